import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const accountName = 'familiar-sandbox'

/** Whom the sandbox's processes belong to on this machine. */
export interface SandboxAccount {
  uid: number
  gid: number
  /** Somebody else than this process: what the code may read has to be readable for them. */
  isOther: boolean
}

/**
 * This process's own user, and never root: bubblewrap that was started by root leaves ways to the host's /proc/sys open,
 * whatever it unshares. A program that runs as root gets an account for this and nothing else.
 */
export async function sandboxAccount(): Promise<SandboxAccount> {
  const uid = process.geteuid?.() ?? -1
  const gid = process.getegid?.() ?? -1
  if (uid !== 0) return { uid, gid, isOther: false }
  const known = (await findAccount()) ?? (await makeAccount())
  return { ...(known ?? (await unusedNumber())), isOther: true }
}

async function findAccount() {
  const found = (await accounts()).find(({ name }) => name === accountName)
  return found && found.uid !== 0 && found.gid !== 0 ? { uid: found.uid, gid: found.gid } : undefined
}

async function makeAccount() {
  const settings = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent']
  const shell = ['--shell', '/usr/sbin/nologin']
  const options = { env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' }, timeout: 10_000 }
  // A machine without useradd, or with a read-only /etc, has no account to give: a number serves as well.
  await promisify(execFile)('useradd', [...settings, ...shell, accountName], options).catch(() => undefined)
  return findAccount()
}

/** A number that no account has, out of those that distributions leave alone. */
async function unusedNumber() {
  const taken = new Set((await accounts()).flatMap(({ uid, gid }) => [uid, gid]))
  for (let number = 64_899; number > 64_000; number -= 1) {
    if (!taken.has(number)) return { uid: number, gid: number }
  }
  throw new Error('No user number is free for the sandbox')
}

async function accounts() {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid, gid] = line.split(':')
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}
