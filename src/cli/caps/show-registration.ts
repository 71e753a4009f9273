import { systemClock } from '../../base/clock.ts'
import { oneLine, plural } from '../../base/format.ts'
import { createStatusLine } from '../../channels/terminal/status-line.ts'
import type { RegistrationProgress, RegistrationReply } from '../../protocol/capability-api.ts'
import type { CommandContext } from '../command.ts'
import { type ExitCode, exitCodes, interrupted } from '../command-error.ts'
import type { Watched } from '../watched-result.ts'
import type { CapsClient } from './caps-client.ts'
import { withCapsOnce } from './with-caps.ts'

/** Has a folder checked, with a line on the terminal that says how far it is. Ctrl-C ends it; nothing is registered then. */
export async function watchRegistration(
  context: CommandContext,
  work: (caps: CapsClient, watched: Watched<RegistrationProgress>) => Promise<RegistrationReply>,
): Promise<RegistrationReply> {
  const { output, stderr, signal } = context
  const status = createStatusLine({ stream: stderr, clock: systemClock(), afterMs: 300 })
  try {
    return await withCapsOnce(context, (caps) =>
      work(caps, { signal, onProgress: ({ message }) => status.show(oneLine(message, 200)) }),
    )
  } catch (error) {
    if (!signal.aborted) throw error
    status.clear()
    output.note('Stopped. Nothing was registered.')
    throw interrupted()
  } finally {
    status.clear()
  }
}

/** How the examples went and what is wrong, for people; the exit code for both. */
export function printRegistration(
  { output }: CommandContext,
  { ok, name, version, examples, problems }: RegistrationReply,
): ExitCode | undefined {
  for (const example of examples) {
    const mark = example.ok ? output.style('green', '✓') : output.style('red', '✗')
    output.print(`${mark} ${oneLine(JSON.stringify(example.input), 200)}`)
    if (!example.ok && example.detail) output.print(example.detail.replaceAll(/^/gm, '    '))
  }
  if (ok) {
    output.print(`${name} v${version} serves from now on. ${plural(examples.length, 'example')} passed.`)
    return undefined
  }
  const lines = problems.map((problem) => `  ${problem.replaceAll('\n', '\n  ')}`)
  return output.fail(['It was refused:', ...lines].join('\n'), undefined, exitCodes.failed)
}
