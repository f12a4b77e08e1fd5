import { expect, it } from "vitest";
import { createWaits } from "../../src/turn/create-waits.ts";

it("one who hears late is told the present reason, and none once the wait is over", () => {
  const waits = createWaits();
  const heard: string[] = [];
  waits.tell("no node has room");
  waits.hear((why) => void heard.push(why));
  waits.tell("its containers start");
  waits.end();
  waits.hear((why) => void heard.push(`again: ${why}`));
  expect(heard).toEqual(["no node has room", "its containers start"]);
});
