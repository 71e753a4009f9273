import packageFile from '../../package.json' with { type: 'json' }
import { examine } from '../daemon/doctor/examine.ts'
import type { Finding } from '../daemon/doctor/finding.ts'
import type { CommandHandler } from './command.ts'
import { exitCodes } from './command-error.ts'
import { checkDaemon } from './doctor/check-daemon.ts'
import { openParts } from './doctor/open-parts.ts'
import type { Output } from './output.ts'

/** Looks at everything, changes nothing, and needs neither a daemon nor a sound configuration. */
export const doctor: CommandHandler<{ network?: boolean }> = async (context, input) => {
  const { output, homePath, env } = context
  const findings = await examine({
    homePath,
    env,
    daemon: () => checkDaemon(homePath, packageFile.version),
    parts: openParts(context),
    network: input.network === true,
  })
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
