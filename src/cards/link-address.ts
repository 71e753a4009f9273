export const addressLimit = 2_000

interface LinkAddress {
  /** The whole of it, in ASCII and without credentials. */
  address: string
  /** Who is behind it, to be shown. */
  host: string
}

/** Where a link would lead, where that is a web page or a mailbox; otherwise undefined. */
export function linkAddress(href: string): LinkAddress | undefined {
  if (href.length > addressLimit) return undefined
  // A browser drops these wherever they stand, and finds `javascript:` in what is left.
  const url = URL.parse(href.replace(/[\t\n\r]/g, '').trim())
  if (url === null) return undefined
  if (url.protocol === 'mailto:') {
    const mailbox = url.pathname
    return mailbox === '' ? undefined : unlessTooLong({ address: `mailto:${mailbox}`, host: mailbox })
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined
  // `https://bank.example@elsewhere.example/` reads as the bank's.
  url.username = ''
  url.password = ''
  return unlessTooLong({ address: url.href, host: url.host })
}

/** Written in ASCII, it may be nine times as long. */
function unlessTooLong(link: LinkAddress): LinkAddress | undefined {
  return link.address.length > addressLimit ? undefined : link
}
