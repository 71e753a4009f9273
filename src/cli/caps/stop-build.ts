import type { CommandHandler } from '../command.ts'
import { findBuild } from './find-build.ts'
import { withCaps } from './with-caps.ts'

/** `familiar caps stop BUILD`: what serves already serves on. */
export const stopBuild: CommandHandler<{ build: string }> = async (context, input) => {
  const { output } = context
  const { build, stopped } = await withCaps(context, async (caps) => {
    const found = await findBuild(caps, input.build)
    return { build: found, stopped: await caps.stopBuild(found.id) }
  })
  if (input.json) output.printJson({ build_id: build.id, stopped })
  else if (stopped) output.print(`The build of ${build.name} is stopped.`)
  else output.print(`The build of ${build.name} had ended already: ${build.state}.`)
  return undefined
}
