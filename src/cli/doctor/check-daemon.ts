import { existsSync } from 'node:fs'
import { formatDuration } from '../../base/format.ts'
import { readLiveRecord } from '../../daemon/daemon-info.ts'
import { type Finding, fail, ok, reasonOf, warn } from '../../daemon/doctor/finding.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { createApiClient } from '../api-client.ts'

// A machine that is busy is not a daemon that hangs.
const patienceMs = 10_000

export async function checkDaemon(
  homePath: string,
  version: string,
): Promise<{ finding: Finding; isRunning: boolean }> {
  const record = readLiveRecord(homePath)
  if (!record) {
    const rest = existsSync(homePaths(homePath).pidFile) ? ' (an earlier one left its pid file; that does no harm)' : ''
    return { finding: ok('daemon', `Not running${rest}.`), isRunning: false }
  }
  const { pid, url, credential } = record
  if (url === null || credential === null) {
    return { finding: warn('daemon', `Process ${pid} is still starting.`, 'familiar doctor'), isRunning: true }
  }
  try {
    const status = await createApiClient({ url, credential }).status(AbortSignal.timeout(patienceMs))
    const text = `${url}, process ${pid}, up for ${formatDuration(status.uptime_seconds * 1_000)}`
    if (status.version === version) return { finding: ok('daemon', text), isRunning: true }
    const older = `${text}; it is version ${status.version}, this is ${version}.`
    return { finding: warn('daemon', older, `kill ${pid} && familiar serve`), isRunning: true }
  } catch (error) {
    const finding = fail('daemon', `Process ${pid} does not answer at ${url}: ${reasonOf(error)}`, `kill ${pid}`)
    return { finding, isRunning: true }
  }
}
