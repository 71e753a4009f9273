import { resolve } from 'node:path'
import type { CommandHandler } from '../command.ts'
import { exitCodes } from '../command-error.ts'
import { printPermissions } from './show-capability.ts'
import { printRegistration } from './show-registration.ts'
import { withCapsOnce } from './with-caps.ts'

/** `familiar caps import DIRECTORY`: it is there, and off. Nothing of it has run. */
export const importCapability: CommandHandler<{ directory: string }> = async (context, input) => {
  const { output } = context
  const { reply, capability } = await withCapsOnce(context, async (caps) => {
    const imported = await caps.import(resolve(input.directory))
    return { reply: imported, capability: imported.name === null ? undefined : await caps.show(imported.name) }
  })
  if (input.json) output.printJson({ ...reply, permissions: capability?.permissions ?? null })
  else if (!capability) return printRegistration(context, reply)
  else {
    output.print(`${output.style('bold', `${capability.name} v${reply.version}`)}: ${capability.description}`)
    output.print('It is off. It would be allowed to:')
    printPermissions(output, capability)
    output.note(`To let it run: familiar caps enable ${capability.name}`)
  }
  return reply.ok ? undefined : exitCodes.failed
}
