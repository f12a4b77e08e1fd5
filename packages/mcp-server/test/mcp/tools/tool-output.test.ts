import { expect, it } from "vitest";
import { createBudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

it("tools/list describes an agent's result to a client", async () => {
  await using user = await createBudgieUser();
  const { client } = await user.serve();

  const { tools } = await client.listTools();

  await expect(`${JSON.stringify(tools[0]?.outputSchema, undefined, 2)}\n`).toMatchFileSnapshot("reply-output.snap");
});
