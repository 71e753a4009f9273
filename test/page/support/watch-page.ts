import type { BrowserContext, ConsoleMessage, Page } from 'playwright-core'

const tellsViolations = `document.addEventListener('securitypolicyviolation', (event) =>
  console.error('violates the policy:', event.violatedDirective, event.blockedURI, event.sourceFile))`

/**
 * Everything that must never happen in the page, whatever a test does: a request to another origin, a violation of the content
 * security policy, an uncaught error. The list grows while the context is used.
 */
export async function watchContext(context: BrowserContext, origins: ReadonlySet<string>): Promise<string[]> {
  const problems: string[] = []
  await context.addInitScript({ content: tellsViolations })
  context.on('request', (request) => {
    const url = new URL(request.url())
    if (url.protocol === 'blob:' || url.protocol === 'data:' || url.protocol === 'about:') return
    if (!origins.has(url.origin)) problems.push(`asked another origin: ${request.method()} ${request.url()}`)
  })
  context.on('console', (message) => {
    if (message.type() === 'error' && !isRefusal(message)) problems.push(`console: ${message.text()}`)
  })
  context.on('weberror', (error) => problems.push(`not caught: ${error.error().stack ?? error.error().message}`))
  context.on('page', (page: Page) => page.on('crash', () => problems.push('the page crashed')))
  return problems
}

/** The browser itself tells of every answer over 399 and every connection that breaks; those are what some tests are about. */
function isRefusal(message: ConsoleMessage): boolean {
  return message.text().startsWith('Failed to load resource')
}
