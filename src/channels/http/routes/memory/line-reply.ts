import type { Logger } from '../../../../base/logger.ts'
import { commonHeaders } from '../../json-reply.ts'

/** A file of lines, taken from `lines` no faster than the client reads. What fails on the way breaks the answer off. */
export function lineReply(options: {
  lines: AsyncGenerator<string>
  mediaType: string
  name: string
  logger: Logger
}): Response {
  const { lines, logger } = options
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          let block = ''
          while (block.length < blockLength) {
            const next = await lines.next()
            if (next.done) break
            block += `${next.value}\n`
          }
          if (block === '') controller.close()
          else controller.enqueue(Buffer.from(block))
        } catch (cause) {
          logger.error('an answer was broken off', { file: options.name, error: cause })
          controller.error(cause)
        }
      },
      async cancel() {
        await lines.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, {
    headers: {
      ...commonHeaders,
      'content-type': `${options.mediaType}; charset=utf-8`,
      'content-disposition': `attachment; filename="${options.name}"`,
    },
  })
}

/** A write to the socket for every line would take most of the time. */
const blockLength = 65_536
