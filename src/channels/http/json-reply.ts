/** Sent with every answer. There is no CORS header anywhere: no other origin may read what is said here. */
export const commonHeaders = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

const jsonHeaders = { ...commonHeaders, 'content-type': 'application/json; charset=utf-8' }

export function jsonReply(
  body: object,
  options: { status?: number; headers?: Record<string, string> | undefined } = {},
): Response {
  const headers = options.headers ? { ...jsonHeaders, ...options.headers } : jsonHeaders
  return new Response(JSON.stringify(body), { status: options.status ?? 200, headers })
}
