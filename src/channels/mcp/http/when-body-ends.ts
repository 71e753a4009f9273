/** The same answer; `ended` is called once, when its body was read to the end, or nobody reads it any more. */
export function whenBodyEnds(response: Response, ended: () => void): Response {
  const { body, status, headers } = response
  if (!body) {
    ended()
    return response
  }
  const reader = body.getReader()
  const watched = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (value) controller.enqueue(value)
          if (!done) return
          controller.close()
        } catch (cause) {
          controller.error(cause)
        }
        ended()
      },
      cancel(reason) {
        ended()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(watched, { status, headers })
}
