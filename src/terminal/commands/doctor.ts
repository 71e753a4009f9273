import { existsSync } from 'node:fs'
import packageFile from '../../../package.json' with { type: 'json' }
import { formatDuration, reasonOf } from '../../base/text.ts'
import { readDaemonInfo, readLiveRecord } from '../../daemon/daemon-lock.ts'
import {
  checkRestart,
  checkRoutes,
  checkSandbox,
  checkVoice,
  type Finding,
  fail,
  ok,
  warn,
} from '../../daemon/doctor/checks.ts'
import { examine, type PartChecks } from '../../daemon/doctor/examine.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { openSandbox } from '../../daemon/open-sandbox.ts'
import { home } from '../../protocol/status.ts'
import { type CommandContext, type CommandHandler, exitCodes } from '../command.ts'
import { createApiClient } from '../connect.ts'
import { storedKeys } from '../open-beside.ts'
import { type Output, runnableHere } from '../output.ts'
import { openModels } from './models.ts'
import { withVoice } from './voice.ts'

/** Looks at everything, changes nothing, and needs neither a daemon nor a sound configuration. */
export const doctor: CommandHandler<{ network?: boolean }> = async (context, input) => {
  const { output, homePath, env } = context
  const findings = await examine({
    homePath,
    env,
    stored: await storedKeys(context),
    daemon: () => checkDaemon(homePath, packageFile.version),
    parts: openParts(context),
    network: input.network === true,
  })
  const failed = findings.some((finding) => finding.state === 'fail')
  output.report(input.json, { ok: !failed, findings }, () => {
    for (const { state, check, message, mend } of findings) {
      output.print(
        `${output.style(colours[state], state.padEnd(4))}  ${output.style('bold', check.padEnd(16))}  ${runnableHere(output, message)}`,
      )
      if (mend) output.print(`${' '.repeat(24)}${output.style('dim', '→')} ${runnableHere(output, mend)}`)
    }
  })
  return failed ? exitCodes.failed : exitCodes.fine
}

const colours: Record<Finding['state'], Parameters<Output['style']>[0]> = { ok: 'green', warn: 'yellow', fail: 'red' }

// A machine that is busy is not a daemon that hangs.
const patienceMs = 10_000

async function checkDaemon(homePath: string, version: string): Promise<{ finding: Finding; isRunning: boolean }> {
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
    const status = await createApiClient({ url, credential }).api(home).status({}, AbortSignal.timeout(patienceMs))
    const text = `${url}, process ${pid}, up for ${formatDuration(status.uptime_seconds * 1_000)}`
    if (status.version === version) return { finding: ok('daemon', text), isRunning: true }
    const older = `${text}; it is version ${status.version}, this is ${version}.`
    return { finding: warn('daemon', older, `kill ${pid} && familiar serve`), isRunning: true }
  } catch (error) {
    const finding = fail('daemon', `Process ${pid} does not answer at ${url}: ${reasonOf(error)}`, `kill ${pid}`)
    return { finding, isRunning: true }
  }
}

/** Whether the running daemon uses what the files say. */
async function checkRunning(homePath: string): Promise<Finding[]> {
  const info = readDaemonInfo(homePath)
  if (!info) return []
  const reply = await createApiClient(info).api(home).settings()
  if (!reply.is_current)
    return [warn('config in use', 'The files have changed since Familiar read them.', 'familiar reload')]
  return checkRestart(reply.restart_needed)
}

/** Opens what a start would, for one look each. */
function openParts(context: CommandContext): PartChecks {
  const { homePath } = context
  return {
    async routes({ config, environment }) {
      const models = openModels(context)
      try {
        await models.use(config, environment)
        return [...(await checkRunning(homePath)), ...checkRoutes(config, models)]
      } finally {
        await models.close()
      }
    },
    voice: ({ config }) => withVoice(context, {}, (voice) => checkVoice(config, homePath, voice)),
    async sandbox({ config, environment }) {
      const directory = homePaths(homePath).sandbox
      const runtimeDirectory = environment.XDG_RUNTIME_DIR ?? null
      const sandbox = openSandbox({ settings: config.sandbox, directory, runtimeDirectory })
      try {
        return await checkSandbox(config, sandbox)
      } finally {
        await sandbox.close()
      }
    },
  }
}
