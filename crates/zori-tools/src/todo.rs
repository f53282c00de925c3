//! The `todo_write` tool: replaces the task list. The list itself lives in the session, which learns of it from the
//! result.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::tool::{self, Effect, TodoStatus, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;

/// The definition of `todo_write`.
pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Todo,
    about: "Replace the task list. Use it for work of several steps and keep it current.",
    params: &[Param {
        name: "todos",
        aliases: &["tasks", "items"],
        ty: Ty::Objects(&[
            Param {
                name: "content",
                aliases: &["text", "title"],
                ty: Ty::Text,
                need: Need::Required,
                about: "",
            },
            Param {
                name: "status",
                aliases: &["state"],
                ty: Ty::Choice(&["pending", "in_progress", "completed"]),
                need: Need::Required,
                about: "",
            },
        ]),
        need: Need::Required,
        about: "",
    }],
};

pub struct Todo {}

impl Todo {
    /// Makes the tool. It needs nothing from the environment.
    pub fn new(_: Arc<ToolEnv>) -> Self {
        Self {}
    }
}

#[derive(Deserialize)]
struct TodoArgs {
    todos: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    content: String,
    status: String,
}

impl Tool for Todo {
    fn kind(&self) -> Option<ToolKind> {
        Some(ToolKind::Todo)
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        vec![Effect::Internal]
    }

    fn run<'a>(&'a self, _: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        Box::pin(std::future::ready(replace(args).unwrap_or_else(|failure| failure)))
    }
}

fn replace(args: &RawValue) -> Result<ToolOutput, ToolOutput> {
    let args: TodoArgs =
        serde_json::from_str(args.get()).expect("arguments are checked before a tool sees them");
    let todos = args
        .todos
        .into_iter()
        .enumerate()
        .map(|(i, item)| check(i, item))
        .collect::<Result<Arc<[tool::Todo]>, _>>()?;
    let count = |status| todos.iter().filter(|todo| todo.status == status).count();
    let data = format!(
        r#"{{"total":{},"pending":{},"in_progress":{},"completed":{}}}"#,
        todos.len(),
        count(TodoStatus::Pending),
        count(TodoStatus::InProgress),
        count(TodoStatus::Completed),
    );
    Ok(ToolOutput { todos: Some(todos), ..ToolOutput::success(&data) })
}

fn check(i: usize, item: Item) -> Result<tool::Todo, ToolOutput> {
    let fail = |message| Err(ToolOutput::failure(ToolCode::InvalidInput, message));
    if item.content.trim().is_empty() {
        return fail(format!("`todos[{i}].content` is empty; say what is to be done"));
    }
    let known = [TodoStatus::Pending, TodoStatus::InProgress, TodoStatus::Completed];
    match known.into_iter().find(|status| status.as_str() == item.status) {
        Some(status) => Ok(tool::Todo { content: item.content, status }),
        None => fail(format!(
            "`todos[{i}].status` is `{}`; it must be one of pending, in_progress, completed",
            item.status
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the tool; one line for the envelope, then one per task.
    fn write(args: &str) -> String {
        let args = RawValue::from_string(args.to_owned()).unwrap();
        let output = replace(&args).unwrap_or_else(|failure| failure);
        let mut text = output.envelope.get().to_owned();
        for todo in output.todos.iter().flat_map(|todos| todos.iter()) {
            text.push_str(&format!("\n{} {}", todo.status.as_str(), todo.content));
        }
        text
    }

    #[test]
    fn the_list_is_replaced_and_counted() {
        assert_eq!(
            write(
                r#"{"todos":[{"content":"read","status":"completed"},{"content":"write","status":"in_progress"},{"content":"test","status":"in_progress"},{"content":"ship","status":"pending"}]}"#
            ),
            "{\"ok\":true,\"data\":{\"total\":4,\"pending\":1,\"in_progress\":2,\"completed\":1}}\n\
             completed read\nin_progress write\nin_progress test\npending ship"
        );
        assert_eq!(
            write(r#"{"todos":[]}"#),
            r#"{"ok":true,"data":{"total":0,"pending":0,"in_progress":0,"completed":0}}"#
        );
    }

    #[test]
    fn values_that_mean_nothing_are_refused() {
        assert_eq!(
            write(r#"{"todos":[{"content":"a","status":"pending"},{"content":"b","status":"done"}]}"#),
            r#"{"ok":false,"error":{"code":"invalid_input","message":"`todos[1].status` is `done`; it must be one of pending, in_progress, completed"}}"#
        );
        assert_eq!(
            write(r#"{"todos":[{"content":" ","status":"pending"}]}"#),
            r#"{"ok":false,"error":{"code":"invalid_input","message":"`todos[0].content` is empty; say what is to be done"}}"#
        );
    }

    #[test]
    fn it_touches_nothing_outside() {
        let args = RawValue::from_string(r#"{"todos":[]}"#.to_owned()).unwrap();
        assert_eq!((Todo {}).effects(&args), [Effect::Internal]);
    }
}
