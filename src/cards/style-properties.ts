/** What a style attribute of a card may set: how something looks, and where it stands within the card. */
export const styleProperties: ReadonlySet<string> = new Set(
  `color opacity visibility cursor accent-color
  background background-color background-image background-size background-position background-repeat background-clip
  background-origin

  border border-width border-style border-color border-radius border-collapse border-spacing
  border-top border-top-width border-top-style border-top-color
  border-right border-right-width border-right-style border-right-color
  border-bottom border-bottom-width border-bottom-style border-bottom-color
  border-left border-left-width border-left-style border-left-color
  border-top-left-radius border-top-right-radius border-bottom-left-radius border-bottom-right-radius
  outline outline-width outline-style outline-color outline-offset box-shadow

  margin margin-top margin-right margin-bottom margin-left margin-block margin-inline
  padding padding-top padding-right padding-bottom padding-left padding-block padding-inline
  width height min-width min-height max-width max-height box-sizing aspect-ratio object-fit object-position

  display position top right bottom left inset z-index float clear overflow overflow-x overflow-y
  transform transform-origin vertical-align columns column-count column-width gap row-gap column-gap
  flex flex-basis flex-direction flex-flow flex-grow flex-shrink flex-wrap order
  justify-content justify-items justify-self align-content align-items align-self
  place-content place-items place-self
  grid grid-area grid-auto-columns grid-auto-flow grid-auto-rows grid-column grid-column-start grid-column-end
  grid-gap grid-row grid-row-start grid-row-end grid-template grid-template-areas grid-template-columns
  grid-template-rows
  table-layout caption-side empty-cells list-style list-style-type list-style-position

  font font-family font-size font-style font-weight font-variant font-variant-numeric font-stretch
  font-feature-settings line-height letter-spacing word-spacing white-space word-break word-wrap overflow-wrap
  hyphens tab-size direction
  text-align text-align-last text-decoration text-decoration-line text-decoration-color text-decoration-style
  text-decoration-thickness text-underline-offset text-indent text-overflow text-shadow text-transform text-wrap

  fill fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-dasharray stroke-dashoffset stroke-linecap
  stroke-linejoin stroke-miterlimit stop-color stop-opacity text-anchor dominant-baseline`.split(/\s+/),
)
