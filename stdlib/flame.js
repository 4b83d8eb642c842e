// flame.js - interaction with a flame graph in a browser: clicking a frame zooms in to it and says what it is, "Search" highlights
// frames by name; arrow keys go from frame to frame, Enter zooms in, Escape out. It is part of each SVG file that whammc writes
// (src/format/svg.c), and draws those of pages (bindings/js/lib/flame-view.mjs): `root` is the picture, ask() gives what is searched.
function flame(root, ask) {
  'use strict';
  var SVG = 'http://www.w3.org/2000/svg', CHARACTER = 7.3, LEAST = 3, ENDS = 16, INDENT = 6;
  var zoomed = null;
  function element(id) { return root.querySelector('#' + id); }

  var frames = Array.prototype.map.call(root.querySelectorAll('.f'), function (node) {
    var title = node.querySelector('title').textContent;
    return {
      node: node, title: title, name: title.slice(0, title.lastIndexOf(' (')), text: node.querySelector('text'),
      x: parseFloat(node.getAttribute('x')), width: parseFloat(node.getAttribute('width')), y: +node.getAttribute('y')
    };
  });

  function addText(parent, x, y, content) {
    var text = document.createElementNS(SVG, 'text');
    text.setAttribute('x', x);
    text.setAttribute('y', y);
    text.textContent = content;
    return parent.appendChild(text);
  }

  function pixels() { return root.getBoundingClientRect().width || 1200; }

  // Says what a frame is, above the picture: there are no tooltips on touch screens, nor for keys. Long names are cut in the middle.
  var details = addText(root, 8, 38, ''), left = element('left');
  function tell(frame) {
    var title = frame ? frame.title : '', most = Math.floor((pixels() - ENDS) / CHARACTER), half = (most - 1) >> 1;
    details.textContent = title.length <= most ? title : title.slice(0, half) + '\u2026' + title.slice(-half);
    if (left) left.style.display = frame ? 'none' : '';
  }

  // Shows a frame in a part of the picture, both in percent.
  function place(frame, x, width, whole) {
    frame.node.setAttribute('x', x.toFixed(4) + '%');
    frame.node.setAttribute('width', width.toFixed(4) + '%');
    frame.node.style.display = '';
    var most = Math.floor((width / 100 * whole - INDENT) / CHARACTER), fits = frame.name.length <= most;
    if (!fits && most < LEAST) {
      if (frame.text) frame.node.removeChild(frame.text);
      frame.text = null;
      return;
    }
    frame.text = frame.text || addText(frame.node, 3, 12, '');
    frame.text.textContent = fits ? frame.name : frame.name.slice(0, most - 1) + '\u2026';
  }

  // Widths in the file have four digits after the point.
  function contains(outer, inner) {
    return outer.x <= inner.x + 0.001 && inner.x + inner.width <= outer.x + outer.width + 0.001;
  }

  function zoom(to) {
    var whole = pixels();
    zoomed = to;
    tell(to);
    frames.forEach(function (frame) {
      frame.node.style.opacity = '';
      if (!to) {
        place(frame, frame.x, frame.width, whole);
      } else if (frame.y > to.y && contains(frame, to)) {
        place(frame, 0, 100, whole);
        frame.node.style.opacity = 0.5;
      } else if (frame.y <= to.y && contains(to, frame)) {
        place(frame, (frame.x - to.x) / to.width * 100, frame.width / to.width * 100, whole);
      } else {
        frame.node.style.display = 'none';
      }
    });
    element('reset').style.display = to ? 'inline' : 'none';
  }

  // The part of the picture, in percent, that the frames cover.
  function covered(list) {
    var end = 0, sum = 0;
    list.slice().sort(function (a, b) { return a.x - b.x; }).forEach(function (frame) {
      var from = Math.max(end, frame.x), to = frame.x + frame.width;
      if (to > from) { sum += to - from; end = to; }
    });
    return Math.min(sum, 100);
  }

  // Marks the frames whose names match the regular expression; the empty one matches none.
  function search(pattern) {
    var matched = element('matched'), expression = null;
    try {
      expression = pattern ? new RegExp(pattern) : null;
    } catch (error) { /* it matches nothing */ }
    var found = frames.filter(function (frame) {
      var match = expression !== null && expression.test(frame.name);
      frame.node.setAttribute('class', match ? 'f found' : 'f');
      return match;
    });
    matched.textContent = 'Matched: ' + covered(found).toFixed(1) + '%';
    matched.style.display = pattern ? 'inline' : 'none';
    return found.length;
  }

  // The nearest frame that an arrow leads to: up to what a frame calls, down to its caller.
  function next(from, key) {
    var best = null;
    frames.forEach(function (frame) {
      var up = from.y - frame.y, right = frame.x - from.x, distance = Math.abs(up) * 1000 + Math.abs(right);
      var fits = { ArrowUp: up > 0 && contains(from, frame), ArrowDown: up < 0 && contains(frame, from),
        ArrowLeft: !up && right < 0, ArrowRight: !up && right > 0 }[key];
      if (fits && frame.node.style.display !== 'none' && (!best || distance < best.distance)) best = { frame: frame, distance: distance };
    });
    return best && best.frame;
  }

  // One frame at a time can be reached by Tab.
  function focus(frame) {
    frames.forEach(function (each) { each.node.setAttribute('tabindex', each === frame ? 0 : -1); });
    frame.node.focus();
    tell(frame);
  }

  function press(frame, event) {
    var to = next(frame, event.key);
    if (event.key === 'Enter' || event.key === ' ') zoom(frame);
    else if (event.key === 'Escape' && zoomed) zoom(null);
    else if (to) focus(to);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  frames.forEach(function (frame, i) {
    frame.node.setAttribute('tabindex', i ? -1 : 0);
    frame.node.addEventListener('click', function () { zoom(frame); });
    frame.node.addEventListener('focus', function () { tell(frame); });
    frame.node.addEventListener('keydown', function (event) { press(frame, event); });
  });
  element('reset').addEventListener('click', function () { zoom(null); });
  element('search').style.display = 'inline';
  element('search').addEventListener('click', function () {
    var pattern = ask();
    if (pattern !== null) search(pattern);
  });
  zoom(null); // which fits the labels to this width
  window.addEventListener('resize', function () { zoom(zoomed); });
  return { zoom: zoom, search: search, frames: frames };
}
window.flame = flame(document.documentElement, function () { return window.prompt('Names to mark (a regular expression):', ''); });
