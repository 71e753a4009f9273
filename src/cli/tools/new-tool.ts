import { openHome } from '../../daemon/home.ts'
import { type ToolLanguage, writeNewTool } from '../../tools/contract/new/write-new-tool.ts'
import type { CommandHandler } from '../command.ts'
import { CommandError, usageError } from '../command-error.ts'

interface NewInput {
  name: string
  language: ToolLanguage
  description?: string
}

/** `familiar tools new NAME`: a tool that works, in the home. A running Familiar finds it by itself. */
export const newTool: CommandHandler<NewInput> = async ({ homePath, output }, input) => {
  const home = await openHome(homePath)
  if (!home.ok) throw new CommandError(home.message, { hint: home.hint })
  const { name, language, description } = input
  const written = await writeNewTool({ root: home.paths.tools, name, language, description })
  if (!written.ok) throw usageError(`${written.problem}.`)
  const { directory, files } = written
  if (input.json) {
    output.printJson({ name, directory, files })
    return undefined
  }
  output.print(`${directory}: ${files.join(', ')}`)
  output.note(`To try it:  familiar tools run ${name} --params '{"name": "Ada"}'`)
  output.note(`To test it: familiar tools test ${name}`)
  return undefined
}
