import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { applyWith, prepare } from "../helpers/interrupt-apply.ts";

describe("what an apply relies on", () => {
  it("is on the disk before it is recorded: the contents that an undo needs", async () => {
    const world = await prepare();
    const order: string[] = [];
    const { archive, objects } = world.sets;
    const sets = {
      ...world.sets,
      objects: { ...objects, flush: () => objects.flush().then(() => void order.push("flush")) },
      archive: {
        ...archive,
        commit: (...args: Parameters<typeof archive.commit>) =>
          archive.commit(...args).then(() => void order.push("commit")),
      },
    };

    await applyWith({ ...world, sets }, () => undefined);

    expect(order).toEqual(["flush", "commit"]);
  });

  it("is read from the disk's files, which a flush opens one after another", async () => {
    const world = await prepare();
    const { objects } = world.sets;
    const staged = await objects.stage([Buffer.from("kept")]);
    await staged?.keep();
    const path = join(world.stateDir, "objects", staged?.digest ?? "");
    rmSync(path);
    symlinkSync(path, path);

    await expect(objects.flush()).rejects.toMatchObject({ code: "ELOOP" });
    // A file that nothing needed may be removed before.
    rmSync(path);
    await objects.flush();
  });
});
