const silentTokens = ['HEARTBEAT_OK', 'NO_REPLY']

/** A reply that starts or ends with a silent token, on a word boundary, is stored and not delivered. */
export function isSilentReply(reply: string): boolean {
  const text = reply.trim()
  const words = /[\p{L}\p{N}_]/u
  return silentTokens.some((token) => {
    if (text.startsWith(token) && !words.test(text.charAt(token.length))) return true
    let end = text.length
    while (end > 0 && !words.test(text.charAt(end - 1))) end -= 1
    return text.slice(0, end).endsWith(token) && !words.test(text.charAt(end - token.length - 1))
  })
}
