import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

type Owned = ChildProcessByStdio<null, Readable, Readable>

// Some three hundred daemons start in a run of the suite; this halves what each start takes.
const compileCache = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'crash-suite')

const alive = new Set<Owned>()
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

/** A Node process that ends with this one at the latest, however this one ends its tests. */
export function spawnOwned(args: string[], env: Record<string, string>): Owned {
  // Nothing of the developer's own environment: a key there would make another provider known.
  const { PATH, TZ } = process.env
  const child = spawn(process.execPath, args, {
    env: { PATH, TZ, NODE_COMPILE_CACHE: compileCache, FAMILIAR_EMBEDDING: 'off', FAMILIAR_SANDBOX: 'off', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  alive.add(child)
  child.once('exit', () => alive.delete(child))
  return child
}
