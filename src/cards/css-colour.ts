const hex = /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/
const functional = /^(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch)\(([^()]{1,100})\)$/
const component = /^(?:[+-]?(?:\d{1,6}(?:\.\d{0,10})?|\.\d{1,10})(?:%|deg|grad|rad|turn)?|none)$/

const names = new Set(
  `aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet brown burlywood
  cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan darkgoldenrod darkgray
  darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon darkseagreen
  darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray dimgrey dodgerblue
  firebrick floralwhite forestgreen fuchsia gainsboro ghostwhite gold goldenrod gray green greenyellow grey honeydew
  hotpink indianred indigo ivory khaki lavender lavenderblush lawngreen lemonchiffon lightblue lightcoral lightcyan
  lightgoldenrodyellow lightgray lightgreen lightgrey lightpink lightsalmon lightseagreen lightskyblue lightslategray
  lightslategrey lightsteelblue lightyellow lime limegreen linen magenta maroon mediumaquamarine mediumblue
  mediumorchid mediumpurple mediumseagreen mediumslateblue mediumspringgreen mediumturquoise mediumvioletred
  midnightblue mintcream mistyrose moccasin navajowhite navy oldlace olive olivedrab orange orangered orchid
  palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff peru pink plum powderblue purple
  rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown seagreen seashell sienna silver skyblue
  slateblue slategray slategrey snow springgreen steelblue tan teal thistle tomato transparent turquoise violet wheat
  white whitesmoke yellow yellowgreen`.split(/\s+/),
)

/** The colour in lower case, where the text is one in CSS and nothing more; otherwise undefined. */
export function cssColour(text: string): string | undefined {
  const colour = text.trim().toLowerCase()
  if (names.has(colour) || colour === 'currentcolor' || hex.test(colour)) return colour
  const inside = functional.exec(colour)?.[1]
  if (inside === undefined) return undefined
  const components = inside.trim().split(/[\s,/]+/)
  const isWhole =
    (components.length === 3 || components.length === 4) && components.every((part) => component.test(part))
  return isWhole ? colour.replace(/\s+/g, ' ') : undefined
}
