import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** A program that is measured from outside: how long until it answers, how much memory and processor it takes. */
export interface ProcessUnderTest {
  url: string
  readyMs: number
  residentMegabytes(): number
  /** Spent by all of its threads since it began, in its own code and for it in the system. */
  processorMs(): number
  stop(): Promise<void>
}

/** Runs Node with `args`; the first line that the program prints must hold its address as `http://…`. */
export async function startProcess(options: {
  args: string[]
  env?: Record<string, string>
  healthPath?: string
}): Promise<ProcessUnderTest> {
  const start = performance.now()
  const child = spawn(process.execPath, options.args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH ?? '', ...options.env },
  })
  const url = await addressOf(child)
  const answer = await fetch(`${url}${options.healthPath ?? '/'}`)
  await answer.text()
  const readyMs = performance.now() - start
  return {
    url,
    readyMs,
    residentMegabytes: () => residentMegabytes(child.pid ?? 0),
    processorMs: () => processorMs(child.pid ?? 0),
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

async function addressOf(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('The program has no output')
  for await (const line of createInterface({ input: child.stdout })) {
    const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line)
    if (!found) continue
    child.stdout.resume()
    return found[0]
  }
  throw new Error(`The program ended without telling its address (${child.spawnargs.join(' ')})`)
}

function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}

function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in brackets may hold spaces; the fields are counted from behind it, in ticks of a hundredth of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
