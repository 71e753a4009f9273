/** Where a link leads, if it leads to a page or a mailbox; undefined for whatever else an address can set off. */
export function readLink(address: string): URL | undefined {
  if (address.length > 2_000 || !URL.canParse(address)) return undefined
  const url = new URL(address)
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url : undefined
}

/** What is shown behind the words of a link, so that they cannot pass for another place (SEC-7). */
export function shownHost(label: string, url: URL): string {
  const where = url.protocol === 'mailto:' ? url.pathname : url.host
  const named = label.trim().toLowerCase()
  const isSame = named === where || named === url.href || hostOf(named) === where
  return isSame ? '' : ` (${where})`
}

/** Only of an address that is nothing but an address: before its host nothing may stand that looks like one. */
function hostOf(label: string): string | undefined {
  if (!/^https?:\/\/[^\s@\\]+$/.test(label) || !URL.canParse(label)) return undefined
  return new URL(label).host
}
