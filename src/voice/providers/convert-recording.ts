import { findProgram } from '../../base/find-program.ts'
import { longestSeconds } from '../audio/heard.ts'
import type { Machine } from '../kokoro/phonemize.ts'

const limits = { wallMs: 60_000, outputBytes: 40 * 1024 * 1024 }

/**
 * A recording of any kind as WAV, by the user's own ffmpeg; undefined where there is none, or where it cannot read it. It
 * reads from a pipe and from nothing else: a file that names other files or addresses gets none of them.
 */
export async function convertRecording(
  machine: Machine,
  { data, signal }: { data: Uint8Array; signal: AbortSignal },
): Promise<Uint8Array | undefined> {
  const program = await findProgram(['ffmpeg'], machine.searchPath)
  if (program === undefined) return undefined
  const { end, stdout } = await machine.runChild({
    argv: [
      program,
      ...['-hide_banner', '-loglevel', 'error', '-nostdin'],
      // An M4A may have its index at the end: behind this the pipe can be read again.
      ...['-protocol_whitelist', 'cache,pipe', '-i', 'cache:pipe:0'],
      ...['-vn', '-t', String(longestSeconds + 1), '-ac', '1', '-ar', '16000', '-f', 'wav', 'pipe:1'],
    ],
    environment: { PATH: machine.searchPath },
    workingDirectory: '/',
    stdin: data,
    limits,
    signal,
  })
  return end.kind === 'exited' && end.code === 0 && stdout.length > 44 ? stdout : undefined
}
