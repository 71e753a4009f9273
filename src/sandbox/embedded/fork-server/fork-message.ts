import { z } from 'zod'

const id = z.number().int()
const descriptor = z.number().int().nonnegative()
const pipes = z.object({
  stdin: descriptor,
  request: descriptor,
  stdout: descriptor,
  stderr: descriptor,
  result: descriptor,
})

/** What fork-server.py says, a line of JSON each. */
export const forkMessage = z.union([
  z.object({ ready: z.literal(true) }),
  /** It has forked, and these are the numbers of its ends of the pipes. */
  z.object({ id, pipes }),
  /** Everything that was forked for it is gone. */
  z.object({ id, code: z.number().int() }),
  z.object({ id, broken: z.string() }),
])
