import packageFile from '../../package.json' with { type: 'json' }
import type { CommandContext, CommandHandler } from './command.ts'
import { exitCodes } from './command-error.ts'
import { checkBrowser } from './doctor/check-browser.ts'
import { checkConfig } from './doctor/check-config.ts'
import { checkDaemon } from './doctor/check-daemon.ts'
import { checkDatabase } from './doctor/check-database.ts'
import { checkHome } from './doctor/check-home.ts'
import { checkClock, checkDisk, checkNode } from './doctor/check-machine.ts'
import { checkProviders, checkRoutes, checkTokenizer } from './doctor/check-models.ts'
import { checkSandbox } from './doctor/check-sandbox.ts'
import { type Finding, fail, reasonOf } from './doctor/finding.ts'
import type { Output } from './output.ts'

/** Looks at everything, changes nothing, and needs neither a daemon nor a sound configuration. */
export const doctor: CommandHandler<{ network?: boolean }> = async (context, input) => {
  const { output } = context
  const findings = await examine(context, input.network === true)
  const failed = findings.some((finding) => finding.state === 'fail')
  if (input.json) output.printJson({ ok: !failed, findings })
  else {
    for (const { state, check, message, mend } of findings) {
      output.print(
        `${output.style(colours[state], state.padEnd(4))}  ${output.style('bold', check.padEnd(16))}  ${message}`,
      )
      if (mend) output.print(`${' '.repeat(24)}${output.style('dim', '→')} ${mend}`)
    }
  }
  return failed ? exitCodes.failed : exitCodes.fine
}

const colours: Record<Finding['state'], Parameters<Output['style']>[0]> = { ok: 'green', warn: 'yellow', fail: 'red' }

async function examine({ homePath, env }: CommandContext, network: boolean): Promise<Finding[]> {
  const { loaded, findings: config } = checkConfig(homePath, env)
  const [home, disk, { finding: daemon, isRunning }] = await Promise.all([
    look('home', checkHome(homePath)),
    look('disk', checkDisk(homePath)),
    checkDaemon(homePath, packageFile.version),
  ])
  const database = await checkDatabase(homePath, { isInUse: isRunning })
  return [
    checkNode(process.versions.node),
    ...home,
    ...disk,
    checkClock(Date.now(), database.newestEvent),
    ...config,
    ...database.findings,
    daemon,
    ...(loaded.ok ? await look('routes', checkRoutes(loaded)) : []),
    ...(loaded.ok && network ? await look('providers', checkProviders(loaded.config)) : []),
    ...(loaded.ok ? await look('browser', checkBrowser(loaded.config, loaded.environment.PATH ?? '')) : []),
    ...(loaded.ok
      ? await look('sandbox', checkSandbox(loaded.config, homePath, loaded.environment.XDG_RUNTIME_DIR ?? null))
      : []),
    checkTokenizer(),
  ]
}

/** A look that fails itself is a finding too. */
async function look(check: string, looking: Promise<Finding | Finding[]>): Promise<Finding[]> {
  return looking.then(
    (found) => [found].flat(),
    (error: unknown) => [fail(check, `Could not be looked at: ${reasonOf(error)}`)],
  )
}
