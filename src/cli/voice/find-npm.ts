import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findProgram } from '../../base/find-program.ts'

/**
 * The command that starts npm: the one that belongs to this Node, otherwise one on the search path, as the launcher has it.
 * Undefined where there is none.
 */
export async function findNpm(
  env: Readonly<Record<string, string | undefined>>,
  node = process.execPath,
): Promise<[string, ...string[]] | undefined> {
  const program = join('node_modules', 'npm', 'bin', 'npm-cli.js')
  const folder = dirname(node)
  const beside = [join(folder, program), join(folder, '..', 'lib', program)].find((file) => existsSync(file))
  if (beside !== undefined) return [node, beside]
  const found = await findProgram(['npm'], env.PATH ?? '')
  return found === undefined ? undefined : [found]
}
