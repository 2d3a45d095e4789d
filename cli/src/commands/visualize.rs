//! `ameles visualize`

use crate::runtime::checkout::{Checkout, Kind, Part};
use crate::runtime::exit::Exit;
use crate::runtime::interrupt::Interrupts;
use crate::runtime::listen::listen;
use crate::runtime::output::print_line;
use ameles_gateway::http::admin;
use anyhow::{Context, Result, bail};
use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use clap::Args;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The schemes of the page, compiled to WebAssembly.
const MODULE: Part = Part {
    name: "the page's schemes",
    command: "ameles visualize",
    kind: Kind::Module,
    package: "ameles-web",
    target: "wasm32-unknown-unknown",
    profile: "release",
};

/// The files of the page, with their types.
const FILES: [(&str, &str, &str); 20] = [
    ("/", HTML, include_str!("../../../web/page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("../../../web/page/style.css")),
    ("/main.js", SCRIPT, include_str!("../../../web/page/main.js")),
    ("/colours.js", SCRIPT, include_str!("../../../web/page/colours.js")),
    ("/drawing.js", SCRIPT, include_str!("../../../web/page/drawing.js")),
    ("/engine.js", SCRIPT, include_str!("../../../web/page/engine.js")),
    ("/game.js", SCRIPT, include_str!("../../../web/page/game.js")),
    ("/game_pane.js", SCRIPT, include_str!("../../../web/page/game_pane.js")),
    ("/layout.js", SCRIPT, include_str!("../../../web/page/layout.js")),
    ("/network.js", SCRIPT, include_str!("../../../web/page/network.js")),
    ("/picture.js", SCRIPT, include_str!("../../../web/page/picture.js")),
    ("/player.js", SCRIPT, include_str!("../../../web/page/player.js")),
    ("/random.js", SCRIPT, include_str!("../../../web/page/random.js")),
    ("/recording.js", SCRIPT, include_str!("../../../web/page/recording.js")),
    ("/setting.js", SCRIPT, include_str!("../../../web/page/setting.js")),
    ("/strips.js", SCRIPT, include_str!("../../../web/page/strips.js")),
    ("/surface.js", SCRIPT, include_str!("../../../web/page/surface.js")),
    ("/touches.js", SCRIPT, include_str!("../../../web/page/touches.js")),
    ("/words.js", SCRIPT, include_str!("../../../web/page/words.js")),
    ("/workloads.js", SCRIPT, include_str!("../../../web/page/workloads.js")),
];

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

#[derive(Args)]
#[command(
    after_help = "The page shows fifteen schemes of the library at a very small size: trees, levels, stash, and what a provider \
sees of them. It is served only on this machine, loads nothing from elsewhere, and uses no vault.

Examples:
  ameles visualize
  ameles visualize --port 8400"
)]
pub(super) struct Arguments {
    /// The port on 127.0.0.1; 0 means any free port
    #[arg(long, default_value_t = 9320, value_name = "PORT")]
    port: u16,
    /// The schemes, compiled to WebAssembly [default: ameles_web.wasm next to this program, or built from the checkout]
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
}

/// Serves the page until an interrupt.
///
/// # Errors
/// The schemes are not found, or the port is in use.
pub(super) async fn run(Arguments { port, module }: Arguments) -> Result<Exit> {
    // A used port is reported before anything is built.
    let listener = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), "--port".into())?;
    let path = module.map_or_else(find, Ok)?;
    let module = tokio::fs::read(&path).await.with_context(|| path.display().to_string())?;
    if !module.starts_with(b"\0asm") {
        bail!("{} is not a WebAssembly module: build it with `cargo xtask web`", path.display());
    }
    let address = listener.local_addr()?;
    let mut interrupts = Interrupts::listen()?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    print_line!("The page is at http://{address}/ on this machine. Press Ctrl-C to stop.");
    admin::serve(listener, router(module.into()), async move { interrupts.next().await }).await?;
    Ok(Exit::Success)
}

/// Returns the module next to this program, or the one of the checkout.
fn find() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let sibling = program.with_file_name(MODULE.file());
    if sibling.is_file() {
        return Ok(sibling);
    }
    let Some(checkout) = Checkout::find()? else {
        bail!(
            "{} is not next to {}, and there is no checkout to build it from: name it with --module",
            MODULE.file(),
            program.display()
        )
    };
    checkout.build(&MODULE)
}

fn router(module: Bytes) -> Router {
    let mut routes = Router::new();
    for (path, kind, text) in FILES {
        routes = routes.route(path, get(move || async move { ([(header::CONTENT_TYPE, kind)], text) }));
    }
    let module = get(move || async move { ([(header::CONTENT_TYPE, "application/wasm")], module) });
    routes.route("/ameles_web.wasm", module).layer(map_response(with_security_headers))
}

/// The rights of the page in a browser: it may only load its own files and compile its module.
const SECURITY_HEADERS: [(HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

async fn with_security_headers(mut response: Response) -> Response {
    for (name, value) in SECURITY_HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_of_the_page_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/page");
        for file in std::fs::read_dir(folder).expect("the page is in the checkout") {
            let name = file.expect("it can be listed").file_name().into_string().expect("its name is text");
            let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
            assert!(FILES.iter().any(|(served, ..)| *served == path), "{name} is not served");
        }
    }
}
