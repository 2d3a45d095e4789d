//! `ameles user`

use crate::config::Settings;
use crate::runtime::exit::Exit;
use crate::runtime::output::print_line;
use crate::users::file::{UsersFile, hash, new_key, new_password};
use crate::users::{MAX_PASSWORD_BYTES, UserError};
use crate::vault::home::Home;
use ameles_gateway::auth::identity::{AccessKey, AccountName, Identity, Role, User, UserName};
use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use std::fmt;
use std::io::Read;
use std::str::FromStr;
use zeroize::Zeroizing;

#[derive(Args)]
#[command(after_help = "A running gateway applies changes within a second.

Examples:
  ameles user add ameles:backup --role owner --s3-keys
  ameles user add guests:ann < password.txt --password-stdin
  ameles user list
  ameles user password ameles:owner
  ameles user keys ameles:owner
  ameles user remove guests:ann")]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Add a user; an account is created with its first user
    Add(Add),
    /// List all users, without their secrets
    List,
    /// Remove a user; the data of the account stays
    Remove {
        /// Account and name
        #[arg(value_name = "ACCOUNT:USER")]
        user: FullName,
    },
    /// Change the password of a user and end all logins with the old one
    Password {
        /// Account and name
        #[arg(value_name = "ACCOUNT:USER")]
        user: FullName,
        /// Read the password from standard input instead of generating one
        #[arg(long)]
        password_stdin: bool,
    },
    /// Add a pair of S3 keys to a user, or remove one
    Keys {
        /// Account and name
        #[arg(value_name = "ACCOUNT:USER")]
        user: FullName,
        /// The access key to remove; without it, a new pair is generated
        #[arg(long, value_name = "ACCESS_KEY_ID")]
        remove: Option<String>,
    },
}

#[derive(Args)]
struct Add {
    /// Account and name
    #[arg(value_name = "ACCOUNT:USER")]
    user: FullName,
    /// The rights of the user
    #[arg(long, value_enum, default_value_t = RoleChoice::Owner)]
    role: RoleChoice,
    /// Generate a pair of S3 keys
    #[arg(long)]
    s3_keys: bool,
    /// Read the password from standard input instead of generating one
    #[arg(long, conflicts_with = "no_password")]
    password_stdin: bool,
    /// Give the user no password, only S3 keys
    #[arg(long, requires = "s3_keys")]
    no_password: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleChoice {
    /// Only the rights that the access lists of containers grant
    Member,
    /// All rights in the account except its quota
    Owner,
    /// All rights in all accounts
    Admin,
}

impl RoleChoice {
    fn role(self) -> Role {
        match self {
            RoleChoice::Member => Role::Member,
            RoleChoice::Owner => Role::Owner,
            RoleChoice::Admin => Role::Admin,
        }
    }
}

/// `ACCOUNT:USER`
#[derive(Clone)]
struct FullName {
    account: AccountName,
    user: UserName,
}

impl FullName {
    fn matches(&self, user: &User) -> bool {
        user.identity.account == self.account && user.identity.user == self.user
    }
}

impl FromStr for FullName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (account, user) = text.split_once(':').ok_or("write ACCOUNT:USER, such as ameles:backup")?;
        Ok(FullName {
            account: account.parse().map_err(|error| format!("the account: {error}"))?,
            user: user.parse().map_err(|error| format!("the user: {error}"))?,
        })
    }
}

impl fmt::Display for FullName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.account.as_str(), self.user.as_str())
    }
}

pub(super) fn run(settings: &Settings, arguments: Arguments) -> Result<Exit> {
    let home = Home::new(settings);
    if !home.database().exists() {
        return Err(home.no_vault());
    }
    let file = UsersFile::new(settings.data.credentials());
    match arguments.action {
        Action::Add(add) => self::add(&file, add)?,
        Action::List => list(&file)?,
        Action::Remove { user } => {
            remove(&file, &user)?;
            print_line!("Removed {user}.");
        }
        Action::Password { user, password_stdin } => {
            let (password, is_generated) = password(password_stdin)?;
            let hash = hash(&password)?;
            change_one(&file, &user, |user| {
                user.password = Some(hash);
                Ok(())
            })?;
            print_line!("{user} has a new password.");
            show_password(&password, is_generated);
        }
        Action::Keys { user, remove: None } => {
            let key = new_key()?;
            change_one(&file, &user, |user| {
                user.keys.push(key.clone());
                Ok(())
            })?;
            show_key(&key);
        }
        Action::Keys { user, remove: Some(id) } => {
            change_one(&file, &user, |user| {
                let count = user.keys.len();
                user.keys.retain(|key| key.id != id);
                if user.keys.len() == count { Err(UserError::MissingKey) } else { Ok(()) }
            })?;
            print_line!("Removed the access key: it no longer works.");
        }
    }
    Ok(Exit::Success)
}

fn add(file: &UsersFile, add: Add) -> Result<(), UserError> {
    let password = if add.no_password { None } else { Some(password(add.password_stdin)?) };
    let hash = password.as_ref().map(|(password, _)| hash(password)).transpose()?;
    let key = if add.s3_keys { Some(new_key()?) } else { None };
    let name = add.user;
    let identity = Identity { account: name.account.clone(), user: name.user.clone(), role: add.role.role() };
    let user = User { identity, password: hash, keys: key.iter().cloned().collect() };
    file.change(|users| {
        if users.iter().any(|user| name.matches(user)) {
            return Err(UserError::Exists(name.to_string()));
        }
        users.push(user);
        Ok(())
    })?;
    print_line!("Added {name} ({}).", add.role.role().name());
    if let Some((password, is_generated)) = &password {
        show_password(password, *is_generated);
    }
    if let Some(key) = &key {
        show_key(key);
    }
    Ok(())
}

fn list(file: &UsersFile) -> Result<(), UserError> {
    for user in file.load()?.unwrap_or_default() {
        let Identity { account, user: name, role } = &user.identity;
        let password = if user.password.is_some() { "password" } else { "no password" };
        let keys: Vec<&str> = user.keys.iter().map(|key| &*key.id).collect();
        let keys =
            if keys.is_empty() { "no S3 keys".to_owned() } else { format!("S3 keys {}", keys.join(", ")) };
        print_line!("{}:{}  {}  {password}  {keys}", account.as_str(), name.as_str(), role.name());
    }
    Ok(())
}

fn remove(file: &UsersFile, name: &FullName) -> Result<(), UserError> {
    file.change(|users| {
        let count = users.len();
        if count == 1 && name.matches(&users[0]) {
            return Err(UserError::Last(name.to_string()));
        }
        users.retain(|user| !name.matches(user));
        if users.len() == count { Err(UserError::Missing(name.to_string())) } else { Ok(()) }
    })
}

fn change_one(
    file: &UsersFile,
    name: &FullName,
    edit: impl FnOnce(&mut User) -> Result<(), UserError>,
) -> Result<(), UserError> {
    file.change(|users| {
        let user = users.iter_mut().find(|user| name.matches(user));
        edit(user.ok_or_else(|| UserError::Missing(name.to_string()))?)
    })
}

/// Returns the password, and true if it was generated here.
fn password(from_stdin: bool) -> Result<(Zeroizing<String>, bool), UserError> {
    if !from_stdin {
        return Ok((new_password()?, true));
    }
    let mut text = Zeroizing::new(String::new());
    let read = std::io::stdin().lock().take(MAX_PASSWORD_BYTES + 1).read_to_string(&mut text);
    let line = text.lines().next().unwrap_or_default();
    if read.is_err() || line.is_empty() || line.len() as u64 > MAX_PASSWORD_BYTES {
        return Err(UserError::NoPassword);
    }
    Ok((Zeroizing::new(line.to_owned()), false))
}

fn show_password(password: &str, is_generated: bool) {
    if is_generated {
        print_line!("  password            {password}   (shown only once)");
    }
}

fn show_key(key: &AccessKey) {
    print_line!("  access_key_id       {}\n  secret_access_key   {}", key.id, *key.secret);
}
