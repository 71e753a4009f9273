import { resolve } from 'node:path'
import { writeNewCapability } from '../../tools/capabilities/share/write-new-capability.ts'
import type { CommandHandler } from '../command.ts'
import { usageError } from '../command-error.ts'

interface NewInput {
  name: string
  runtime: 'python' | 'node'
}

/** `familiar caps new NAME`: a folder here that passes the gate as it is. */
export const newCapability: CommandHandler<NewInput> = async ({ output }, input) => {
  const { name, runtime } = input
  const written = await writeNewCapability({ root: resolve('.'), name, runtime })
  if (!written.ok) throw usageError(written.problem)
  const { directory, files } = written
  if (input.json) {
    output.printJson({ name, directory, files })
    return undefined
  }
  output.print(`${directory}: ${files.join(', ')}`)
  output.note(`To have it checked and serve: familiar caps register ${name}`)
  return undefined
}
