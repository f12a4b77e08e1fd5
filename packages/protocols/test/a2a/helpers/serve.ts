import { onTestFinished } from "vitest";
import { startScriptedServer, type Script, type ScriptedServer } from "@budgie/testkit";

/** Starts a scripted server that ends with its test. */
export async function serve(script: Script): Promise<ScriptedServer> {
  const server = await startScriptedServer(script);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}
