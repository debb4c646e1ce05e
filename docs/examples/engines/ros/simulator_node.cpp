// simulator_node.cpp - the ROS node that is the robot: it has wheels, a laser, and rooms drawn from a seed. It ends
// when the robot has left the last room (exit status 0), touched a wall, or taken too long (1).
//
// Parameters of its own: `seed` (default 1001), `beams`: a laser with another number of beams, to see it refused. It
// reads `cmd_vel` and writes `scan`.
//
// SPDX-License-Identifier: MIT
#include <diagnostic_msgs/DiagnosticArray.h>
#include <geometry_msgs/Twist.h>
#include <ros/ros.h>
#include <sensor_msgs/LaserScan.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "body.hpp"
#include "drive.hpp"
#include "message.h"

namespace {

sensor_msgs::LaserScan to_message(const robot::Scan& scan, std::size_t n_beams) {
  sensor_msgs::LaserScan message;
  message.header.stamp = ros::Time::now();
  message.header.frame_id = "laser";
  message.angle_min = static_cast<float>(robot::first_angle);
  message.angle_increment = static_cast<float>(robot::angle_step);
  message.angle_max = static_cast<float>(robot::first_angle + robot::angle_step * static_cast<double>(n_beams - 1));
  message.scan_time = static_cast<float>(static_cast<double>(robot::steps_per_scan) / robot::steps_per_second);
  message.range_max = static_cast<float>(robot::farthest);
  message.ranges.assign(scan.begin(), scan.end());
  message.ranges.resize(n_beams);
  return message;
}

}  // namespace

int main(int argc, char** argv) {
  complain_as("simulator");
  ros::init(argc, argv, "simulator");
  ros::NodeHandle node, own("~");
  const int seed = own.param("seed", 1001), n_beams = own.param("beams", static_cast<int>(robot::n_beams));
  if (seed < 0 || n_beams < 1) {
    complain("seed %d, beams %d; allowed: at least 0 and 1", seed, n_beams);
    return EXIT_FAILURE;
  }
  const robot::Rooms rooms = robot::draw_rooms(static_cast<std::uint64_t>(seed));
  robot::Body body(rooms);
  robot::Progress progress(rooms);
  robot::Random random(static_cast<std::uint64_t>(seed));
  robot::Command command;
  const ros::Subscriber wheels = node.subscribe<geometry_msgs::Twist>(
      "cmd_vel", 1,
      [&](const geometry_msgs::Twist::ConstPtr& twist) {
        command = {twist->linear.x, twist->angular.z};
      },
      ros::VoidConstPtr(), ros::TransportHints().tcpNoDelay());
  diagnostic_msgs::DiagnosticStatus said;
  const ros::Subscriber diagnostics = node.subscribe<diagnostic_msgs::DiagnosticArray>(
      "diagnostics", 10, [&](const diagnostic_msgs::DiagnosticArray::ConstPtr& message) {
        if (!message->status.empty()) said = message->status.front();
      });
  ros::Publisher laser = node.advertise<sensor_msgs::LaserScan>("scan", 1);
  ros::WallRate rate(robot::steps_per_second);
  std::size_t t = 0;
  const auto longest = static_cast<std::size_t>(robot::longest_drive * robot::steps_per_second);
  for (; ros::ok() && t < longest && !progress.arrived() && !progress.touched(); ++t) {
    if (t % robot::steps_per_scan == 0)
      laser.publish(to_message(body.scan(rooms, random), static_cast<std::size_t>(n_beams)));
    ros::spinOnce();
    body.step(command);
    progress.note(body);
    rate.sleep();
  }
  std::printf("%s after %.1f s\n",
              progress.touched()   ? "a wall touched"
              : progress.arrived() ? "arrived"
                                   : "not arrived",
              static_cast<double>(t) / robot::steps_per_second);
  for (const diagnostic_msgs::KeyValue& pair : said.values)
    std::printf("%s: %s %s\n", said.name.c_str(), pair.key.c_str(), pair.value.c_str());
  return progress.arrived() && !progress.touched() ? EXIT_SUCCESS : EXIT_FAILURE;
}
