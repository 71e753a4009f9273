import type { ElementHandle, Frame } from 'playwright-core'

/** Of an http or https address; undefined for anything else. */
export function originOf(address: string | undefined): string | undefined {
  const url = address === undefined ? null : URL.parse(address)
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.origin : undefined
}

/**
 * Who gets what is done to an element: the page it is in, or the frame. By what the browser says of the frame: a script
 * of the page can say of itself what it likes. A frame without an address of its own belongs to what it stands in.
 */
export async function originOfElement(element: ElementHandle): Promise<string | undefined> {
  for (let frame: Frame | null = await element.ownerFrame(); frame; frame = frame.parentFrame()) {
    if (!/^about:(blank|srcdoc)$/.test(frame.url())) return originOf(frame.url())
  }
  return undefined
}
