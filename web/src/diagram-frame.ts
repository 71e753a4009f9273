import mermaid from 'mermaid'

/** The page's colors, so that a diagram looks as if it were part of it. */
export interface DiagramColors {
  ground: string
  box: string
  border: string
  ink: string
  line: string
}

/** A request of the page: a diagram in Mermaid's language. */
interface DiagramQuestion {
  id: number
  source: string
  isDark: boolean
  colors: DiagramColors
}

/**
 * Runs in a document of its own that has no origin, no network and nothing of the user's but the diagram (see `serve-page.ts`):
 * Mermaid builds HTML from strings, which the page itself never does. The result is shown as an image, where no script runs.
 */
async function draw({ id, source, isDark, colors }: DiagramQuestion): Promise<object> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    suppressErrorRendering: true,
    logLevel: 'fatal',
    maxTextSize: 20_000,
    theme: 'base',
    themeVariables: {
      darkMode: isDark,
      background: colors.ground,
      mainBkg: colors.box,
      primaryColor: colors.box,
      primaryTextColor: colors.ink,
      primaryBorderColor: colors.border,
      lineColor: colors.line,
      textColor: colors.ink,
      edgeLabelBackground: colors.ground,
    },
    // Labels of arrows hide the line behind them.
    themeCSS: `.edgeLabel rect, .labelBkg, .edgeLabel .background { fill: ${colors.ground}; opacity: 1; }`,
    fontFamily: 'system-ui, sans-serif',
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    // Settings that a diagram must not change.
    secure: [
      'secure',
      'securityLevel',
      'startOnLoad',
      'maxTextSize',
      'suppressErrorRendering',
      'maxEdges',
      'themeCSS',
      'htmlLabels',
    ],
  })
  try {
    // This document could not load them anyway; so the browser does not even try.
    if (/\burl\(|@import/i.test(source)) throw new Error('A diagram may not name files.')
    // Mermaid parses labels as HTML before it cleans them; this document's policy blocks handlers, but reports each.
    if (/<[^>]*\son\w+\s*=/i.test(source)) throw new Error('A diagram may not have event handlers.')
    const { svg } = await mermaid.render(`diagram-${id}`, source)
    const read = new DOMParser().parseFromString(svg, 'text/html').querySelector('svg')
    if (!read) throw new Error('Nothing was drawn.')
    const [, , width = 0, height = 0] = (read.getAttribute('viewBox') ?? '').split(/[\s,]+/).map(Number)
    // An image has its own size, and is read as XML.
    read.setAttribute('width', String(width))
    read.setAttribute('height', String(height))
    read.style.maxWidth = ''
    return { id, svg: new XMLSerializer().serializeToString(read), width, height }
  } catch (error) {
    return { id, problem: error instanceof Error ? error.message : String(error) }
  } finally {
    document.body.replaceChildren()
  }
}

let before: Promise<unknown> = Promise.resolve()

window.addEventListener('message', ({ data, source }: MessageEvent<DiagramQuestion>) => {
  if (source !== window.parent) return
  // One after another: Mermaid keeps its settings and the parser's state for all diagrams together.
  before = before.then(async () => window.parent.postMessage(await draw(data), '*'))
})
window.parent.postMessage({ isReady: true }, '*')
