import type { CapabilityReply } from '../../protocol/capability-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { exitCodes } from '../command-error.ts'
import { confirm } from '../confirm.ts'
import { printPermissions } from './show-capability.ts'
import { printRegistration, watchRegistration } from './show-registration.ts'
import { withCaps } from './with-caps.ts'

interface EnableInput {
  name: string
  yes?: boolean
}

/** `familiar caps enable NAME`: also the owner's word for the permissions of one that was imported, as they are shown. */
export const enableCapability: CommandHandler<EnableInput> = async (context, input) => {
  const { output } = context
  const capability = await withCaps(context, (caps) => caps.show(input.name))
  if (capability.needs_approval && capability.version !== null) {
    return approve(context, input, { ...capability, version: capability.version })
  }
  const enabled = await withCaps(context, (caps) => caps.setEnabled(input.name, true))
  if (input.json) output.printJson(enabled)
  else output.print(`${enabled.name} is on.`)
  return undefined
}

export const disableCapability: CommandHandler<{ name: string }> = async (context, input) => {
  const { output } = context
  const capability = await withCaps(context, (caps) => caps.setEnabled(input.name, false))
  if (input.json) output.printJson(capability)
  else output.print(`${capability.name} is off. To have it again: familiar caps enable ${capability.name}`)
  return undefined
}

async function approve(
  context: CommandContext,
  input: EnableInput & { json?: boolean },
  capability: CapabilityReply & { version: number },
) {
  const { output } = context
  const { name, version, description } = capability
  if (!input.json) {
    output.print(`${output.style('bold', `${name} v${version}`)} was imported: ${description}`)
    output.print('It would be allowed to:')
    printPermissions(output, capability)
  }
  if (!input.yes && !(await confirm(context, `Let ${name} run with this?`))) {
    output.print('Nothing was approved.')
    return undefined
  }
  const reply = await watchRegistration(context, (caps, watched) => caps.approve(name, version, watched))
  if (!input.json) return printRegistration(context, reply)
  output.printJson(reply)
  return reply.ok ? undefined : exitCodes.failed
}
