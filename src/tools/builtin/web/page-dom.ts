/** The little of the DOM that reading a page needs: the project's own types have none, since nothing else has use for one. */
export interface PageElement {
  readonly localName: string
  readonly textContent: string | null
  getAttribute(name: string): string | null
  hasAttribute(name: string): boolean
  setAttribute(name: string, value: string): void
  removeAttribute(name: string): void
  querySelectorAll(selector: string): Iterable<PageElement>
  querySelector(selector: string): PageElement | null
  remove(): void
}

export interface PageDocument extends PageElement {
  readonly documentElement: PageElement | null
  readonly body: PageElement | null
}
