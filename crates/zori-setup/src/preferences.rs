//! What was chosen last in a channel of a project: the model of its chats (`docs/contracts/plans.md`). The database has it, and a chat that starts reads a
//! copy of it in one small file (DECISIONS 57). A choice that cannot be used any more is passed over, and never keeps a chat from starting.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use zori_core::time::Clock as _;
use zori_host::SystemClock;
use zori_index::IndexError;

use crate::agent_cx::AgentCx;
use crate::args::LowArgs;
use crate::data_dir::DataDir;
use crate::memory::place;
use crate::model_choice;
use crate::private_file;
use crate::settings::{missing_key, root};
use crate::ui::Ui;

/// Where somebody chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Chat,
    Panel,
}

impl Channel {
    fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Panel => "panel",
        }
    }
}

/// The key of the model, whose value is `PROVIDER:MODEL`.
const MODEL: &str = "model";
/// The largest file that is read.
const LARGEST: u64 = 64 * 1024;

/// The file, by channel and key.
type Chosen = BTreeMap<String, BTreeMap<String, String>>;

fn file(data_dir: &DataDir, project: &Path) -> PathBuf {
    zori_store::project_dir(data_dir.dir(), project).join("preferences.json")
}

/// Returns the model that was chosen last, if the file can be read and has one.
fn chosen_model(data_dir: &DataDir, folder: &Path, channel: Channel) -> Option<String> {
    let path = file(data_dir, &data_dir.project_root(folder));
    if !std::fs::metadata(&path).is_ok_and(|facts| facts.is_file() && facts.len() <= LARGEST) {
        return None;
    }
    let chosen: Chosen = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    chosen.get(channel.as_str())?.get(MODEL).cloned()
}

/// Returns what was typed, with the model that was chosen here last where nothing else names one. Says so.
pub fn applied(cx: &mut AgentCx<'_>, args: &LowArgs, channel: Channel) -> Option<LowArgs> {
    let ours = cx.profile.built_in_prompt && args.recording.replay.is_none();
    let named = args.model.name.is_some() || args.model.provider.is_some() || args.model.api_base.is_some();
    if !ours || named {
        return None;
    }
    let data_dir = cx.app.data_dir().ok()?;
    let model = chosen_model(&data_dir, &root(args).ok()?, channel)?;
    let mut applied = args.clone();
    applied.model.name = Some(model.clone());
    let config = data_dir.read_config().ok()?;
    let known = model.split_once(':').is_some_and(|(name, _)| config.catalog.provider(name).is_some());
    let (mut silent, _) = Ui::collecting(&cx.app.env);
    let choice = model_choice::choose(&applied, &config, &cx.app.env, cx.profile, &mut silent);
    let usable = choice.is_ok_and(|choice| missing_key(&choice.model, &choice.key, "").is_none());
    if !known || !usable {
        cx.ui.say(&format!(
            "The model chosen here last, {model}, cannot be used now; `/model --forget` forgets it"
        ));
        return None;
    }
    Some(applied)
}

/// Keeps the model that was chosen, or forgets it: in the database, and then in the file.
pub fn keep_model(
    data_dir: &DataDir,
    folder: &Path,
    temp: &Path,
    channel: Channel,
    model: Option<&str>,
) -> Result<(), String> {
    let place = place(data_dir, folder, temp);
    let said = |error: IndexError| format!("{error}; {}", error.way_on());
    let mut store = place.open().map_err(said)?;
    let now = SystemClock::new().now().0;
    store.keep_preference(channel.as_str(), MODEL, model, now).map_err(said)?;
    let mut chosen = Chosen::new();
    for (channel, key, value) in store.preferences().map_err(said)? {
        chosen.entry(channel).or_default().insert(key, value);
    }
    let path = file(data_dir, &place.project);
    let text = serde_json::to_vec(&chosen).expect("texts are JSON");
    private_file::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))
}
