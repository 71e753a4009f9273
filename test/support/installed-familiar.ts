import { spawn } from 'node:child_process'

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** One command under way: wait for its end, or for what it says. */
export interface Running extends Promise<Ended> {
  /** Resolves when it has said what `until` asks for; rejects where it ends without. */
  readonly shown: Promise<RegExpExecArray>
  kill(signal: NodeJS.Signals): void
}

/** Runs an installed `familiar` with nothing of this process's environment but the PATH. */
export function startFamiliarAt(options: {
  command: string
  home: string
  uid?: number
  env?: Record<string, string>
}) {
  const { command, home, uid, env } = options
  return (words: string[], { input = '', until }: { input?: string; until?: RegExp } = {}): Running => {
    const child = spawn(process.execPath, [command, ...words], {
      env: { PATH: process.env.PATH ?? '', HOME: home, FAMILIAR_EMBEDDING: 'off', FAMILIAR_SANDBOX: 'off', ...env },
      ...(uid !== undefined && { uid, gid: uid }),
      cwd: home,
      stdio: 'pipe',
    })
    const shown = Promise.withResolvers<RegExpExecArray>()
    shown.promise.catch(() => undefined)
    const said = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (chunk: string) => {
        said[name] += chunk
        const found = until?.exec(said[name])
        if (found) shown.resolve(found)
      })
    }
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const ended = new Promise<Ended>((resolve) => {
      child.on('close', (code) => {
        shown.reject(new Error(`It ended without showing ${until}:\n${said.stdout}\n${said.stderr}`))
        resolve({ code, ...said })
      })
    })
    return Object.assign(ended, { shown: shown.promise, kill: (signal: NodeJS.Signals) => void child.kill(signal) })
  }
}
