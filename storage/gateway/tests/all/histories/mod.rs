//! Random histories of verbs against a plain model. The gateway answers like a map of names, or of lists of versions. A
//! gateway that reads the rows after a restart answers in the same way.

mod harness;
mod lists;
mod model;
mod step;

use ameles_gateway::testing::MemoryDevice;
use ameles_gateway::{Gateway, Options, Padding};
use harness::Harness;
use model::Model;
use proptest::prelude::*;
use std::sync::Arc;
use step::{Step, step};

const BLOCK: usize = 16;
const BLOCKS: u64 = 64;
const BATCH: usize = 3;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_history_of_verbs_is_a_history_of_a_map(steps in prop::collection::vec(step(), 1..60), padding in prop_oneof![ Just(Padding::None), Just(Padding::PowersOfTwo), Just(Padding::Classes(vec![20, 64, 100])), ], pack in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        runtime.block_on(async {
            let device = Arc::new(MemoryDevice::new(BLOCK, BLOCKS, BATCH));
            let options = Options { padding, pack, ..Options::default() };
            let gateway = Gateway::open(Arc::clone(&device), options.clone()).await.expect("opened");
            let mut harness = Harness { device, options, gateway, model: Model::new() };
            harness.step(Step::CreateContainer(0)).await;
            harness.step(Step::CreateContainer(1)).await;
            harness.step(Step::SetVersioning(1, true)).await;
            for step in steps {
                harness.step(step).await;
            }
            harness.check().await;
            harness.list_all();
            harness.step(Step::Reload).await;
            harness.check().await;
            harness.list_all();
        });
    }
}
