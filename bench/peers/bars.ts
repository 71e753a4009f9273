export interface Panel {
  title: string
  /** In the order of the names. */
  values: number[]
}

const panelWidth = 520
const barHeight = 18
const nameWidth = 200
const barWidth = panelWidth - nameWidth - 70

/** Panels of bars, two beside one another, as an SVG that reads on light and dark alike. */
export function bars(options: { names: string[]; panels: Panel[]; marked(name: string): boolean }): string {
  const { names, panels, marked } = options
  const panelHeight = names.length * (barHeight + 6) + 56
  const height = Math.ceil(panels.length / 2) * panelHeight + 12
  const drawn = panels.map(({ title, values }, place) => {
    const most = Math.max(...values, Number.MIN_VALUE)
    const rows = names.map((name, index) => {
      const value = values[index] ?? 0
      const y = 40 + index * (barHeight + 6)
      const fill = marked(name) ? '#c2571a' : '#7d8794'
      const width = Math.max(1, (value / most) * barWidth).toFixed(1)
      return [
        `<text x="${nameWidth - 8}" y="${y + 13}" text-anchor="end">${escaped(name)}</text>`,
        `<rect x="${nameWidth}" y="${y}" width="${width}" height="${barHeight}" rx="2" fill="${fill}"/>`,
        `<text x="${(nameWidth + Number(width) + 6).toFixed(1)}" y="${y + 13}">${value}</text>`,
      ].join('')
    })
    const x = (place % 2) * panelWidth
    const y = Math.floor(place / 2) * panelHeight
    return `<g transform="translate(${x} ${y})"><text x="12" y="24" font-weight="600">${escaped(title)}</text>${rows.join('')}</g>`
  })
  const size = `width="${2 * panelWidth}" height="${height}" viewBox="0 0 ${2 * panelWidth} ${height}"`
  const font = 'font-family="system-ui, sans-serif" font-size="12" fill="#24292f"'
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${font}><rect width="100%" height="100%" rx="8" fill="#ffffff"/>${drawn.join('\n')}</svg>\n`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
