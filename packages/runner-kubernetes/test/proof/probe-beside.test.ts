import { expect, it } from "vitest";
import { probeBeside } from "../../src/proof/probe-beside.ts";
import { createWire, type WireStream } from "../../src/wire/index.ts";
import { connectPair } from "../helpers/connect-pair.ts";

/** Connects to a Pod that answers so. */
function connect(onStream: (stream: WireStream) => void) {
  const pair = connectPair();
  const wire = createWire({ side: "budgie", onStream: () => undefined });
  const pod = createWire({ side: "pod", onStream });
  wire.attach(pair.budgie);
  pod.attach(pair.pod);
  return { wire };
}

const end = ({ end: finish, input, output }: WireStream, said: string, last = {}): void => {
  input.resume();
  output.write(said);
  finish(last);
};

it("the sidecar's report is told in its words", async () => {
  expect(
    await probeBeside(
      connect((stream) => end(stream, "a timeout\n")),
      ["a"],
    ),
  ).toBe("a timeout\n");
});

it("a sidecar that says too much, or fails, is believed nothing", async () => {
  const long = connect((stream) => end(stream, "x".repeat(20_000)));
  await expect(probeBeside(long, ["a"])).rejects.toThrow("said more of its network than was asked");
  const error = { error: { code: "RUNNER_UNAVAILABLE", message: "It failed." } };
  await expect(
    probeBeside(
      connect((stream) => end(stream, "a timeout\n", error)),
      ["a"],
    ),
  ).rejects.toThrow("It failed.");
});
