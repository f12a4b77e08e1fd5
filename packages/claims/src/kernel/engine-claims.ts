import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import type { Claim, Probe } from "../probe/claim.ts";
import { inPerl, inSandbox } from "../probe/in-sandbox.ts";
import type { Lab } from "../lab/lab.ts";

/** The default sockets of engines and their components. */
const SOCKETS: Readonly<Record<string, readonly string[]>> = {
  Docker: ["/run/docker.sock", "/var/run/docker.sock"],
  containerd: ["/run/containerd/containerd.sock", "/run/docker/containerd/containerd.sock"],
  Podman: ["/run/podman/podman.sock", "/var/run/podman/podman.sock"],
};

export const ENGINE_CLAIMS: readonly Claim[] = [
  {
    id: "no-engine",
    sharesTurn: true,
    promise: "An agent cannot reach a container engine through a Unix socket file.",
    protections: ["mounts"],
    probes: [
      ...Object.entries(SOCKETS).map(([name, paths]) => makeSocketProbe(name, paths)),
      inSandbox("find any socket", () => {
        return `command -v find >/dev/null || untried "the image has no find"
          # find does not report a mounted socket as one.
          mounted() { while read -r _ path _; do [ -S "$path" ] && echo "$path"; done </proc/mounts; }
          found=$( { mounted; find / -path /proc -prune -o -type s -print; } 2>/dev/null | head -n 3)
          [ "$found" ] && through "$found"; held "there is none"`;
      }),
    ],
  },
  {
    id: "no-abstract-sockets",
    promise: "An agent cannot reach abstract Unix sockets of the host.",
    protections: ["own-network"],
    probes: [
      {
        name: "connect to an abstract socket of the host",
        attempt: (lab) => besideAbstractSocket(lab, (name) => makeAbstractProbe(name).attempt(lab)),
      },
    ],
  },
];

function makeSocketProbe(name: string, paths: readonly string[]): Probe {
  return inPerl(
    `connect to ${name}`,
    `${connectTo()} connect_to($_, pack_sockaddr_un($_)) for ${paths.map((path) => `"${path}"`).join(", ")}; held("$!");`,
  );
}

function makeAbstractProbe(name: string): Probe {
  // The kernel distinguishes padded names from unpadded ones.
  const addresses = ["pack_sockaddr_un($name)", 'pack("S a108", AF_UNIX, $name)'];
  const attempts = addresses.map((address) => `connect_to($name, ${address});`).join(" ");
  return inPerl("connect", `${connectTo()} my $name = "\\0${name}"; ${attempts} held("$!");`);
}

function connectTo(): string {
  return `use Socket;
  sub connect_to {
    my ($path, $address) = @_;
    socket(my $socket, PF_UNIX, SOCK_STREAM, 0) or untried("$!");
    connect($socket, $address) and through($path);
  }`;
}

/** Runs an attack while somebody listens on an abstract socket of the host. */
async function besideAbstractSocket<T>({ target }: Lab, action: (name: string) => Promise<T>): Promise<T> {
  const name = `budgie-lab-${randomUUID()}`;
  await using _listening = await (target.listenBeside ?? listenHere)(name);
  return await action(name);
}

async function listenHere(name: string): Promise<AsyncDisposable> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(`\0${name}`, resolve));
  return { [Symbol.asyncDispose]: async () => void server.close() };
}
