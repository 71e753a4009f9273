import type { Socket } from 'node:net'
import { createDemultiplexer } from './demultiplex.ts'

export interface CollectedOutput {
  stdout(): Uint8Array
  stderr(): Uint8Array
  /** Resolves when every writer has closed both streams, or with the stream that grew past the limit. Never rejects. */
  finished: Promise<{ tooLarge: 'stdout' | 'stderr' | null }>
}

/** Listens from now on. What comes past `maxBytes` of one stream is thrown away. */
export function collectOutput(socket: Socket, maxBytes: number): CollectedOutput {
  const pieces = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] }
  const sizes = { stdout: 0, stderr: 0 }
  const { promise: finished, resolve } = Promise.withResolvers<{ tooLarge: 'stdout' | 'stderr' | null }>()

  const demultiplex = createDemultiplexer(({ stream, bytes }) => {
    const room = maxBytes - sizes[stream]
    if (room > 0) pieces[stream].push(bytes.subarray(0, room))
    sizes[stream] += bytes.length
    if (sizes[stream] > maxBytes) resolve({ tooLarge: stream })
  })
  socket.on('data', demultiplex)
  socket.on('end', () => resolve({ tooLarge: null }))
  // A connection that breaks tells nothing more; what became of the container is asked for next.
  socket.on('error', () => resolve({ tooLarge: null }))
  socket.on('close', () => resolve({ tooLarge: null }))
  return { stdout: () => Buffer.concat(pieces.stdout), stderr: () => Buffer.concat(pieces.stderr), finished }
}
