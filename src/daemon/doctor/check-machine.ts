import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { formatBytes, formatTime } from '../../base/format.ts'
import { type Finding, fail, ok, quoted, warn } from './finding.ts'

const neededNode = [24, 15] as const
const firstRelease = Date.UTC(2025, 0, 1)

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNewEnough = major > neededNode[0] || (major === neededNode[0] && minor >= neededNode[1])
  if (isNewEnough) return ok('node', `Node ${version}`)
  return fail('node', `Node ${version} is too old; ${neededNode.join('.')} is needed.`, 'npm start')
}

export async function checkDisk(homePath: string): Promise<Finding> {
  const place = nearestExisting(homePath)
  const { bavail, bsize } = await statfs(place)
  const free = bavail * bsize
  const message = `${formatBytes(free)} free`
  if (free < 100e6)
    return fail('disk', `${message}: too little to go on safely.`, `du -xh ${quoted(place)} | sort -h | tail`)
  if (free < 1e9) return warn('disk', `${message}: it is getting tight.`, `du -xh ${quoted(place)} | sort -h | tail`)
  return ok('disk', message)
}

/** `newestEvent` is the latest time that the database holds. */
export function checkClock(now: number, newestEvent: number | undefined): Finding {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const mend = 'sudo timedatectl set-ntp true'
  if (now < firstRelease) return fail('clock', `It says ${formatTime(now)}, which is before Familiar was made.`, mend)
  if (newestEvent !== undefined && newestEvent > now + 60_000) {
    return warn('clock', `It says ${formatTime(now)}, but the newest entry is of ${formatTime(newestEvent)}.`, mend)
  }
  return ok('clock', `${formatTime(now)} (${zone})`)
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}
