import { setImmediate } from "node:timers/promises";
import type Docker from "dockerode";
import { createSessionId } from "@budgie/core";
import { describe, expect, it } from "vitest";
import { createContainer, withPodmanBinds } from "../../src/engine/create-container.ts";
import { toLabels } from "../../src/engine/to-labels.ts";
import { createPendingRemovals } from "../../src/engine/pending-removals.ts";
import { createFakeEngine, type Answers, type FakeEngine } from "../helpers/fake-engine.ts";

const NAME = "budgie-session-1";
const SESSION = createSessionId();
const LABELS = toLabels({ instance: "own", host: "here", lock: "/lock" }, SESSION, "session");

const TAKEN = {
  Docker: {
    status: 409,
    body: { message: `Conflict. The container name "/${NAME}" is already in use by container "1".` },
  },
  Podman: {
    status: 500,
    body: { message: `creating container storage: the container name "${NAME}" is already in use by 1: in use` },
  },
} as const;
const CREATED = { status: 201, body: { Id: "new" } };
const UNKNOWN = { status: 404, body: { message: "no such container" } };

const CREATE = "POST /containers/create";
const LOOK = `GET /containers/${NAME}/json`;

describe("a container whose name is taken", () => {
  it.each(["Docker", "Podman"] as const)(
    "is created after the removal of an earlier one of this budgie, on %s",
    async (name) => {
      await using engine = await createFakeEngine({
        [CREATE]: [TAKEN[name], CREATED],
        [LOOK]: [container("old", LABELS)],
        ...removing("old"),
      });

      expect((await create(engine, name)).id).toBe("new");
      expect(toOrder(engine)).toEqual([CREATE, LOOK, "DELETE /containers/old", "GET /containers/old/json", CREATE]);
    },
  );

  it("is created once another budgie has removed one of the same session", async () => {
    await using engine = await createFakeEngine({
      [CREATE]: [TAKEN.Docker, CREATED],
      [LOOK]: [container("old", { ...LABELS, "dev.budgie.instance": "other" }, "removing")],
      ...removing("old"),
      "DELETE /containers/old": [{ status: 409, body: { message: "removal of container old is already in progress" } }],
      "POST /containers/old/wait": [{ status: 200, body: { StatusCode: 0 } }],
    });

    expect((await create(engine)).id).toBe("new");
    expect(toOrder(engine)).toContain("POST /containers/old/wait");
  });

  it("is created once the engine has freed the name", async () => {
    await using engine = await createFakeEngine({ [CREATE]: [TAKEN.Docker, TAKEN.Docker, CREATED], [LOOK]: [UNKNOWN] });

    expect((await create(engine)).id).toBe("new");
    expect(toOrder(engine)).toEqual([CREATE, LOOK, CREATE, LOOK, CREATE]);
  });

  it.each([
    ["one without labels", {}, "running"],
    ["one without labels that is being removed", {}, "removing"],
    ["another session's", { ...LABELS, "dev.budgie.session": createSessionId() }, "created"],
    ["of another role", { ...LABELS, "dev.budgie.role": "turn" }, "running"],
    ["another budgie's, which has resumed the session", { ...LABELS, "dev.budgie.instance": "other" }, "running"],
  ])("is not created if that one is %s, which stays", async (_whose, labels, status) => {
    await using engine = await createFakeEngine({
      [CREATE]: [TAKEN.Docker],
      [LOOK]: [container("old", labels, status)],
    });

    await expect(create(engine)).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringContaining(
        `"${NAME}" that is not this budgie's, so it stays. Remove it with "docker rm -f ${NAME}"`,
      ),
    });
    await expect.poll(() => engine.requests.filter((request) => request.startsWith(LOOK))).toHaveLength(2);
    expect(engine.requests.filter((request) => request.startsWith("DELETE"))).toEqual([]);
  });
});

describe("a container that an engine may have created without an answer", () => {
  const FAILED = { status: 500, body: { message: "the engine is out of memory" } };

  it("is removed", async () => {
    await using engine = await createFakeEngine({
      [CREATE]: [FAILED],
      [LOOK]: [container("made", LABELS)],
      ...removing("made"),
    });

    await expect(create(engine)).rejects.toMatchObject({ statusCode: 500 });

    await expect.poll(() => toOrder(engine)).toContain("DELETE /containers/made");
  });

  it("is distinguished from a later one of the same name, which stays", async () => {
    const later = { ...LABELS, "dev.budgie.created": new Date(0).toISOString() };
    await using engine = await createFakeEngine({ [CREATE]: [FAILED], [LOOK]: [container("later", later)] });

    await expect(create(engine)).rejects.toMatchObject({ statusCode: 500 });

    await expect.poll(() => toOrder(engine)).toEqual([CREATE, LOOK]);
  });
});

describe("containers that are created at once", () => {
  it.each([
    ["Podman", "4.3.1", 1],
    ["Podman", "4.9.3", 3],
    ["Podman", "5.4.2", 3],
    ["Docker", "20.10.24", 3],
  ] as const)("reach %s %s in groups of at most %i", async (name, version, most) => {
    let current = 0;
    const seen: number[] = [];
    const docker = {
      async createContainer() {
        seen.push(++current);
        await setImmediate();
        current--;
        return {};
      },
    } as unknown as Docker;
    const engine = { docker, name, version, pendingRemovals: createPendingRemovals() };

    await Promise.all(["one", "two", "three"].map((each) => createContainer(engine, each, {})));

    expect(Math.max(...seen)).toBe(most);
    expect(seen).toHaveLength(3);
  });
});

function create({ docker }: FakeEngine, name: "Docker" | "Podman" = "Docker"): Promise<Docker.Container> {
  const engine = { docker, name, version: "5.4.2", pendingRemovals: createPendingRemovals() };
  return createContainer(engine, NAME, { Labels: { ...LABELS } });
}

function container(Id: string, Labels: Readonly<Record<string, string>>, Status = "exited") {
  return { status: 200, body: { Id, Config: { Labels }, State: { Status } } };
}

function removing(id: string): Answers {
  return { [`DELETE /containers/${id}`]: [{ status: 204, body: {} }], [`GET /containers/${id}/json`]: [UNKNOWN] };
}

function toOrder({ requests }: FakeEngine): readonly string[] {
  return requests.map((request) => request.split("?")[0] ?? "");
}

const bind = (Source: string, ReadOnly?: boolean) => ({
  Type: "bind" as const,
  Source,
  Target: "/workspace",
  ...(ReadOnly ? { ReadOnly } : {}),
});
const volume = { Type: "volume" as const, Source: "v", Target: "/home" };

describe("the mounts of a container on Podman", () => {
  it.each([
    ["a plain path as a mount", bind("/a b/ü"), [volume, bind("/a b/ü")], []],
    ["a colon as a mount", bind("/a:b"), [volume, bind("/a:b")], []],
    ["a comma as a bind string", bind("/a,b"), [volume], ["/a,b:/workspace:rw"]],
    ["a quote as a read-only bind string", bind('/a"b', true), [volume], ['/a"b:/workspace:ro']],
  ])("passes %s", (...[, given, Mounts, Binds]) => {
    const options = withPodmanBinds({ Image: "i", HostConfig: { Memory: 1, Mounts: [volume, given] } });

    expect(options).toEqual({ Image: "i", HostConfig: { Memory: 1, Mounts, Binds } });
  });

  it("refuses a path that fits neither form, by name", () => {
    expect(() => withPodmanBinds({ HostConfig: { Mounts: [bind("/a,b:c")] } })).toThrow(
      expect.objectContaining({ code: "WORKSPACE_INVALID", message: expect.stringContaining('"/a,b:c"') }),
    );
  });
});
