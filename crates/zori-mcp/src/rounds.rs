//! Calls of the protocol's version 2026-07-28 that ask something: the question is the result, and the client makes the same
//! call again with the answer.
//!
//! The call itself goes on waiting here, under a name nobody can guess (`requestState`) that is good for one answer. A
//! question nobody comes back to lapses, and its call ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitResult, ErrorCode, ErrorData, InputRequest, InputRequests,
    InputRequiredResult, JsonObject,
};
use tokio::sync::{mpsc, oneshot};

use crate::call::{ProgressTarget, ToolAnswer};
use crate::elicit::FormQuestion;

/// How long a question waits for the client to come back.
const LAPSE: Duration = Duration::from_secs(10 * 60);

/// A call that is under way.
pub(crate) struct OpenCall {
    pub(crate) name: String,
    pub(crate) arguments: JsonObject,
    pub(crate) answer: oneshot::Receiver<ToolAnswer>,
    pub(crate) questions: mpsc::Receiver<FormQuestion>,
    pub(crate) progress: ProgressTarget,
}

/// The calls that wait for an answer.
#[derive(Clone)]
pub(crate) struct Rounds {
    waiting: Arc<Mutex<HashMap<String, Waiting>>>,
    lapse: Duration,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { waiting: Arc::default(), lapse: LAPSE }
    }
}

struct Waiting {
    call: OpenCall,
    question: FormQuestion,
}

impl Rounds {
    /// Puts a call aside until its question is answered, and returns the result that asks it.
    pub(crate) fn ask(&self, state: String, call: OpenCall, question: FormQuestion) -> InputRequiredResult {
        call.progress.set(None);
        let asked = InputRequest::Elicitation(ElicitRequest::new(question.params.clone()));
        let requests = InputRequests::from([(question.key.clone(), asked)]);
        self.waiting().insert(state.clone(), Waiting { call, question });
        let (rounds, lapsing) = (self.clone(), state.clone());
        tokio::spawn(async move {
            tokio::time::sleep(rounds.lapse).await;
            // Dropping the call ends it.
            rounds.waiting().remove(&lapsing);
        });
        InputRequiredResult::new(Some(requests), Some(state))
    }

    /// Returns the call that an answer is for, once it has got that answer, or what to ask again.
    pub(crate) fn answered(
        &self,
        state: &str,
        request: &CallToolRequestParams,
        new_state: impl FnOnce() -> String,
    ) -> Result<Resumed, ErrorData> {
        let refused = |words: &str| ErrorData::new(ErrorCode::INVALID_PARAMS, words.to_owned(), None);
        let waiting = self.waiting().remove(state).ok_or_else(|| {
            refused("no call waits under this `requestState`: it was answered, has lapsed, or was never given out")
        })?;
        let arguments = request.arguments.clone().unwrap_or_default();
        if waiting.call.name != request.name || waiting.call.arguments != arguments {
            self.waiting().insert(state.to_owned(), waiting);
            return Err(refused(
                "`requestState` is of another call: `name` and `arguments` must stay as they were",
            ));
        }
        let Waiting { call, question } = waiting;
        let given = request.input_responses.as_ref().and_then(|given| given.get(&question.key));
        match given.map(|given| serde_json::from_value::<ElicitResult>(given.clone())) {
            Some(Ok(result)) => {
                // A call that does not wait for it any more has its own answer.
                let _ = question.answer.send(result);
                Ok(Resumed::Call(call))
            }
            Some(Err(_)) | None => Ok(Resumed::AskAgain(self.ask(new_state(), call, question))),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a call that is made again comes to.
pub(crate) enum Resumed {
    Call(OpenCall),
    /// The answer is not there, or is none.
    AskAgain(InputRequiredResult),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::elicit::Elicitor;

    /// A question nobody comes back to ends its call, and who asked learns that there is no answer.
    #[tokio::test]
    async fn a_question_lapses() {
        let rounds = Rounds { lapse: Duration::ZERO, ..Rounds::default() };
        let (reply, answer) = oneshot::channel();
        let (asked, mut questions) = mpsc::channel(1);
        let elicitor = Elicitor::by_result(asked);
        let asking = tokio::spawn(async move {
            elicitor.form("name", "Who?".to_owned(), json!({"type": "object", "properties": {}})).await
        });
        let question = questions.recv().await.expect("it is asked");
        let (name, arguments, progress) = ("t".to_owned(), JsonObject::new(), ProgressTarget::default());
        let call = OpenCall { name, arguments, answer, questions, progress };
        let result = rounds.ask("s".to_owned(), call, question);
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({"resultType": "input_required", "requestState": "s", "inputRequests": {"name": {
                "method": "elicitation/create", "params": {"mode": "form", "message": "Who?",
                    "requestedSchema": {"type": "object", "properties": {}}}}}})
        );
        let said = asking.await.unwrap();
        assert_eq!(said, Err("the client did not come back with an answer".to_owned()));
        assert!(reply.is_closed(), "the call goes on");
    }
}
