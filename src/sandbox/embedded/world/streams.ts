import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

const inbound = ['stdin', 'request'] as const
const outbound = ['stdout', 'stderr', 'result'] as const

type Inbound = (typeof inbound)[number]
type Outbound = (typeof outbound)[number]

/** The number that each pipe has in the process that made it. */
export type StreamNumbers = Readonly<Record<Inbound | Outbound, number>>

/** This program's ends of the pipes of a call. */
export interface Streams {
  /** Sends everything and closes. A reader that does not want it is no error. */
  write(name: Inbound, bytes: Uint8Array): void
  /** Resolves when nobody can write any more. */
  read(name: Outbound, onBytes: (bytes: Uint8Array) => void): Promise<void>
  close(): void
}

/**
 * Opens the other ends of pipes that a process has made for its call. Node itself gives its children socket pairs, on
 * which `> /dev/stderr` and `cat /dev/stdin` fail; a named pipe would hang there once its writer is gone. What the
 * process has put into them so far is thrown away. Whoever opens them closes them.
 */
export function openStreams(pid: number, numbers: StreamNumbers): Streams {
  const open = new Map<string, number>()
  const sockets: Socket[] = []
  try {
    for (const name of inbound) {
      const path = `/proc/${pid}/fd/${numbers[name]}`
      const reader = openPipe(path, O_RDONLY)
      drain(reader)
      closeSync(reader)
      open.set(name, openPipe(path, O_WRONLY))
    }
    for (const name of outbound) {
      const reader = openPipe(`/proc/${pid}/fd/${numbers[name]}`, O_RDONLY)
      open.set(name, reader)
      drain(reader)
    }
  } catch (cause) {
    for (const descriptor of open.values()) closeSync(descriptor)
    throw cause
  }

  function take(name: string): number {
    const descriptor = open.get(name)
    if (descriptor === undefined) throw new Error(`The pipe ${name} is in use or closed`)
    open.delete(name)
    return descriptor
  }

  return {
    write(name, bytes) {
      const descriptor = take(name)
      const written = writeAtOnce(descriptor, bytes)
      if (written === bytes.length) return closeSync(descriptor)
      const socket = new Socket({ fd: descriptor, readable: false, writable: true })
      sockets.push(socket)
      socket.on('error', () => undefined)
      socket.end(bytes.subarray(written))
    },
    read(name, onBytes) {
      const socket = new Socket({ fd: take(name), readable: true, writable: false })
      sockets.push(socket)
      return new Promise((resolve) => {
        socket.on('error', () => undefined)
        socket.on('data', onBytes)
        socket.on('close', () => resolve())
      })
    },
    close() {
      for (const descriptor of open.values()) closeSync(descriptor)
      open.clear()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function openPipe(path: string, mode: number): number {
  const descriptor = openSync(path, mode | O_NONBLOCK)
  if (fstatSync(descriptor).isFIFO()) return descriptor
  closeSync(descriptor)
  throw new Error(`${path} is no pipe`)
}

function drain(descriptor: number): void {
  try {
    const buffer = Buffer.alloc(16)
    while (readSync(descriptor, buffer) > 0);
  } catch (cause) {
    if (codeOf(cause) !== 'EAGAIN') throw cause
  }
}

/** A pipe takes 64 kB without anybody reading; most payloads are smaller. */
function writeAtOnce(descriptor: number, bytes: Uint8Array): number {
  try {
    return bytes.length === 0 ? 0 : writeSync(descriptor, bytes)
  } catch (cause) {
    if (codeOf(cause) === 'EAGAIN') return 0
    // Nobody reads.
    if (codeOf(cause) === 'EPIPE') return bytes.length
    throw cause
  }
}

function codeOf(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined
}
