import type { CommandHandler } from '../command.ts'
import { withCapsOnce } from './with-caps.ts'

/** `familiar caps repair NAME`: the Builder mends it in the background; what is there serves until that passes. */
export const repairCapability: CommandHandler<{ name: string; problem?: string }> = async (context, input) => {
  const { output } = context
  const { build, isServed } = await withCapsOnce(
    context,
    async (caps, { daemon }) => ({
      build: await caps.repair(input.name, input.problem),
      isServed: daemon !== undefined,
    }),
    { talks: true },
  )
  if (input.json) {
    output.printJson(build)
    return undefined
  }
  output.print(`The Builder mends ${build.name}: build ${build.id}`)
  // Where Familiar ran inside this command only, the work rests when the command ends.
  output.note(
    isServed ? `To watch it: familiar caps watch ${build.id}` : `It goes on with: familiar caps watch ${build.id}`,
  )
  return undefined
}
