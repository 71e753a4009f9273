import { resolve } from 'node:path'
import type { CommandHandler } from '../command.ts'
import { exitCodes } from '../command-error.ts'
import { printRegistration, watchRegistration } from './show-registration.ts'

/** `familiar caps register PATH`: the same gate that the Builder passes. For this machine alone: no token may bring code. */
export const registerCapability: CommandHandler<{ path: string }> = async (context, input) => {
  const reply = await watchRegistration(context, (caps, watched) => caps.register(resolve(input.path), watched))
  if (!input.json) return printRegistration(context, reply)
  context.output.printJson(reply)
  return reply.ok ? undefined : exitCodes.failed
}
