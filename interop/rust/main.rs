// A client of the Rust SDK, which does what the lines of stdin say, one after the other, and prints a line of JSON for each.
//
//     {"connect": {"command", "args", "env"} | {"url", "token"}}     ->  {"server", "revision", "tools"} | {"error"}
//     {"call": {"name", "arguments", "timeoutMs"?}}                  ->  {"result", "progress"} | {"error", "progress"}
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, ProgressNotificationParam, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, PeerRequestOptions, RoleClient, RunningService,
    ServiceError,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::process::Command;

type Session = RunningService<RoleClient, Client>;

#[derive(Clone, Default)]
struct Client {
    progress: Arc<Mutex<Vec<ProgressNotificationParam>>>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("interop", "1.0.0"),
        )
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.progress.lock().unwrap().push(told);
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let client = Client::default();
    let mut session: Option<Session> = None;
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let step: Value = serde_json::from_str(&line).unwrap();
        let seen = if let Some(address) = step.get("connect") {
            end(session.take()).await;
            match connect(client.clone(), address).await {
                Ok(connected) => list(session.insert(connected)).await,
                Err(error) => json!({ "error": { "message": error.to_string() } }),
            }
        } else {
            call(session.as_ref().unwrap(), &client, &step["call"]).await
        };
        println!("{seen}");
    }
    end(session).await;
}

async fn end(session: Option<Session>) {
    if let Some(session) = session {
        session.cancel().await.unwrap();
    }
}

async fn connect(client: Client, to: &Value) -> Result<Session, ClientInitializeError> {
    if let Some(url) = to["url"].as_str() {
        let config = StreamableHttpClientTransportConfig::with_uri(url)
            .auth_header(to["token"].as_str().unwrap());
        return client
            .serve(StreamableHttpClientTransport::from_config(config))
            .await;
    }
    let mut command = Command::new(to["command"].as_str().unwrap());
    command.args(
        to["args"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str),
    );
    command.envs(
        to["env"]
            .as_object()
            .unwrap()
            .iter()
            .filter_map(|(name, value)| Some((name, value.as_str()?))),
    );
    client.serve(TokioChildProcess::new(command).unwrap()).await
}

async fn list(session: &Session) -> Value {
    let peer = session.peer_info().unwrap();
    match session.list_all_tools().await {
        Ok(tools) => json!({
            "server": peer.server_info,
            "revision": peer.protocol_version,
            "tools": tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>(),
        }),
        Err(error) => json!({ "error": to_error(error) }),
    }
}

async fn call(session: &Session, client: &Client, asked: &Value) -> Value {
    client.progress.lock().unwrap().clear();
    let name = asked["name"].as_str().unwrap().to_owned();
    let params = CallToolRequestParams::new(name)
        .with_arguments(asked["arguments"].as_object().unwrap().clone());
    let outcome = answer(session, params, asked["timeoutMs"].as_u64()).await;
    let progress = client.progress.lock().unwrap().clone();
    match outcome {
        Ok(result) => json!({ "result": result, "progress": progress }),
        Err(error) => json!({ "error": to_error(error), "progress": progress }),
    }
}

async fn answer(
    session: &Session,
    params: CallToolRequestParams,
    timeout_ms: Option<u64>,
) -> Result<ServerResult, ServiceError> {
    let options = timeout_ms
        .map(Duration::from_millis)
        .map(PeerRequestOptions::with_timeout)
        .unwrap_or_default();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    session
        .send_cancellable_request(request, options)
        .await?
        .await_response()
        .await
}

fn to_error(error: ServiceError) -> Value {
    match error {
        ServiceError::McpError(error) => json!({ "code": error.code, "message": error.message }),
        other => json!({ "message": other.to_string() }),
    }
}
