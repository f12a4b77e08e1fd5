/** Folders and names of a Pod, as its containers have them. */
export const POD = {
  /** The container of the user's image, in which `hold` runs agents */
  agent: "agent",
  /** The container of budgie's image, which runs the program of the room `sidecar` */
  sidecar: "budgie",
  /** The folder of budgie's image with `hold`, its profile, the copier and the sidecar's program */
  image: "/opt/budgie",
  /** The folder of `hold`, its profile and its socket, read-only in the agent's container */
  programs: "/budgie",
  /** Volume of the workspace's copy; the agent has its folder `tree` at its workspace path */
  work: "/work",
  /** Volume of the session's home, which is its folder `agent` */
  home: "/home",
  /** Volume of `/tmp`, in memory; the agent has its folder `tmp` there. The rest is the sidecar's own */
  scratch: "/scratch",
  /** Volume of the host's files that are shown at their own paths; the agent has it, read-only, at the path of the user's home */
  shown: "/shown",
  /** The memory that the containers of a Pod share, which the cluster gives it */
  sharedMemory: "/dev/shm",
} as const;

/** The port of the loopback interface at which processes reach the session proxy, through the sidecar. */
export const PROXY_PORT = 3128;

/** The sidecar's socket for bridges. */
export const WIRE_SOCKET = `${POD.scratch}/wire`;

/** The command of a bridge, which passes its stdin and stdout to the sidecar's socket, once the sidecar has made that. */
export const BRIDGE = [`${POD.image}/hold`, "bridge", WIRE_SOCKET, "20"] as const;

/** The user's certificates, which agents can read and not change. */
export const TRUST = { pem: `${POD.programs}/ca.pem`, java: `${POD.programs}/ca.p12` } as const;

/** The socket to which `hold` connects once. */
export const HOLD_SOCKET = `${POD.programs}/hold.sock`;
