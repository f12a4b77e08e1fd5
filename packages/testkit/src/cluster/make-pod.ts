const LOCKED = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  runAsUser: 1000,
  seccompProfile: { type: "RuntimeDefault" },
};

/** Makes a Pod of one container, which Pod security `restricted` admits unless it is given another security context. */
export function makePod(container: PodContainer): string {
  const containers = [{ imagePullPolicy: "Never", securityContext: LOCKED, ...container }];
  const spec = { containers, restartPolicy: "Never", terminationGracePeriodSeconds: 0 };
  return JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: container.name }, spec });
}

type PodContainer = {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly securityContext?: object;
};

/** A server in Perl that lets everybody connect to its port 8080 */
export const SERVER_COMMAND = [
  "perl",
  "-MIO::Socket::INET",
  "-e",
  "$s = IO::Socket::INET->new(LocalPort => 8080, Listen => 9) or die; while ($c = $s->accept) { close $c }",
];

/** Makes a command in bash that tries to connect, and prints `connected` or `blocked`. */
export function makeVisit(address: string, port: number): readonly string[] {
  return ["bash", "-c", `timeout 5 bash -c ': </dev/tcp/${address}/${port}' && echo connected || echo blocked`];
}
