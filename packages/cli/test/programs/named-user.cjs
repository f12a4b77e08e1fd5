// Gives a name to a user without an entry in /etc/passwd, since Qwen Code does not start without one.
const os = require("node:os");

const { userInfo } = os;
os.userInfo = (options) => {
  try {
    return userInfo(options);
  } catch {
    const [uid, gid] = [process.getuid(), process.getgid()];
    return { uid, gid, username: String(uid), homedir: os.homedir(), shell: "/bin/sh" };
  }
};
