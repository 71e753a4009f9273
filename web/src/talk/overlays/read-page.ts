export interface ReadPage {
  title: string
  url: string
  host: string
  text: string
}

/** What `web_fetch` answers of a page's beginning; undefined where it is not that. */
export function readPage(text: string): ReadPage | undefined {
  const [, title = '', url = '', rest = ''] = /^(?:# (.*)\n)?(https?:\S+)\n\n([\s\S]*)$/.exec(text) ?? []
  if (!URL.canParse(url)) return undefined
  const { host } = new URL(url)
  return { title: title || host, url, host, text: rest }
}
